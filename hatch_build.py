"""The project's links in the package's metadata, made of the one address `repository` in pyproject.toml."""

from __future__ import annotations

from hatchling.metadata.plugin.interface import MetadataHookInterface

PAGES = {
    "Source": "",
    "Documentation": "/tree/main/docs",
    "Changelog": "/blob/main/CHANGELOG.md",
    "Issues": "/issues",
    "Security": "/security/policy",
}
"""Each link, and what follows the address of the repository in it."""


class ProjectLinks(MetadataHookInterface):
    """Adds the links; none until the address is filled in."""

    def update(self, metadata: dict[str, object]) -> None:
        """Put the links into the metadata."""
        address = self.config["repository"].rstrip("/")
        metadata["urls"] = {name: address + page for name, page in PAGES.items()} if address else {}

"""Write the data of the touchable figures to docs/_static/figures/."""

from experiments.touchable import write

if __name__ == "__main__":
    write()

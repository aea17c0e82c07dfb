"""Write the files of test vectors into vectors/ of this checkout."""

from pathlib import Path

from attacklab.model.files import write_whole
from experiments.vectors import contents

if __name__ == "__main__":
    for name, content in contents():
        write_whole(Path("vectors", name), content)

"""The fixtures of the package's other tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

"""`python -m forklake.cli`."""

import sys

from forklake.cli import main

sys.exit(main())

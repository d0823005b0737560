#!/usr/bin/env python3
"""The commands of a program for help2man: every command's --help, as text of a man page. manual.py PROGRAM"""

import re
import subprocess
import sys


def usage(*arguments: str) -> str:
    """What --help prints, at a fixed width."""
    environment = {"COLUMNS": "80", "PATH": "/usr/bin:/bin"}
    done = subprocess.run([*arguments, "--help"], check=True, capture_output=True, text=True, env=environment)
    return done.stdout


program = sys.argv[1]
for command in re.findall(r"^    (\w+) ", usage(program), re.MULTILINE):
    print(f"\n[{command.upper()}]\n.nf")
    for line in usage(program, command).splitlines():
        print(line.replace("\\", "\\\\").replace("-", "\\-") or ".sp")
    print(".fi")

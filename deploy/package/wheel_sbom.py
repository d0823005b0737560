"""Puts the SBOM that deploy/package/build.sh has made into the wheel (PEP 770); other builds have none."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SBOM = "build/package/sbom/respire-edge.cdx.json"


class SbomHook(BuildHookInterface):  # type: ignore[misc,type-arg,unused-ignore]
    """Runs before hatchling writes a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the SBOM, if it is there."""
        if version == "standard" and Path(self.root, SBOM).is_file():
            build_data["sbom_files"].append(SBOM)

"""Units of a gas in air: shares by volume, and masses by volume at a reference temperature and pressure."""

from typing import Any, NamedTuple

GAS_CONSTANT = 8.314462618  # J/(mol K)
GRAMS_PER_MOLE = {"CO": 28.010, "NO": 30.006, "NO2": 46.006, "O3": 47.998, "SO2": 64.064}
PPM_IN = {"ppm": 1.0, "ppb": 1e-3}
MG_IN = {"mg/m3": 1.0, "mg/m³": 1.0, "ug/m3": 1e-3, "µg/m3": 1e-3, "µg/m³": 1e-3}


class Conditions(NamedTuple):
    """What a cubic metre of air is: 20 °C in EU 2008/50/EC, 25 °C for the US EPA, both at 1013.25 hPa."""

    temperature_c: float = 20.0
    pressure_hpa: float = 1013.25

    def mg_per_ppm(self, gas: str) -> float | None:
        """The milligrams in a cubic metre at 1 ppm, p·M / (R·T); None for an unknown gas.

        >>> round(Conditions(20.0).mg_per_ppm("CO"), 4), round(Conditions(25.0).mg_per_ppm("CO"), 4)
        (1.1644, 1.1449)
        """
        grams = GRAMS_PER_MOLE.get(gas)
        moles = self.pressure_hpa * 100.0 / (GAS_CONSTANT * (self.temperature_c + 273.15))  # in 1 m³
        return None if grams is None else moles * grams * 1e-3


class PublishUnit(NamedTuple):
    """The unit of published estimates."""

    unit: str
    conditions: Conditions = Conditions()

    @property
    def named_conditions(self) -> Conditions | None:
        """The conditions, if the unit depends on them."""
        return self.conditions if self.unit in MG_IN else None

    def factor(self, gas: str, unit: str) -> float | None:
        """What a value in `unit` is multiplied by; None if the gas or the unit is unknown.

        >>> publish = PublishUnit("ug/m3")
        >>> round(publish.factor("CO", "ppm"), 1), round(publish.factor("CO", "mg/m³"), 1)
        (1164.4, 1000.0)
        """
        if unit == self.unit:
            return 1.0
        given, wanted = self._in_ppm(gas, unit), self._in_ppm(gas, self.unit)
        return given / wanted if given and wanted else None

    def _in_ppm(self, gas: str, unit: str) -> float | None:
        mg_per_ppm = self.conditions.mg_per_ppm(gas)
        if unit in PPM_IN:
            return PPM_IN[unit]
        return MG_IN[unit] / mg_per_ppm if unit in MG_IN and mg_per_ppm else None


def decode_conditions(record: Any) -> Conditions | None:
    """The conditions in an estimate's map; ValueError, TypeError or KeyError if there are none."""
    return None if record is None else Conditions(*(float(record[name]) for name in Conditions._fields))

/** Limits of carbon monoxide in outdoor air, the choice among them in the address, and units. */

import { listed } from "./words";

export interface Limit {
  by: string;
  /** The limit is for the mean over this time. */
  hours: number;
  amount: number;
  unit: "ppm" | "mg/m³";
}

const limit = (by: string, hours: number, amount: number, unit: Limit["unit"]): Limit => ({ by, hours, amount, unit });

/**
 * WHO: Global air quality guidelines 2021. US: NAAQS, 40 CFR 50.8. India: NAAQS 2009, residential areas.
 * EU: Directive 2008/50/EC.
 */
const LIMITS = new Map<string, Limit[]>([
  ["who", [limit("WHO", 24, 4, "mg/m³"), limit("WHO", 8, 10, "mg/m³"), limit("WHO", 1, 35, "mg/m³"), limit("WHO", 0.25, 100, "mg/m³")]],
  ["us", [limit("US", 8, 9, "ppm"), limit("US", 1, 35, "ppm")]],
  ["in", [limit("India", 8, 2, "mg/m³"), limit("India", 1, 4, "mg/m³")]],
  ["eu", [limit("EU", 8, 10, "mg/m³")]],
]);
const DEFAULT = "who";
export const CHOICES = ["who", "us", "in", "eu", "who,us", "who,us,in,eu"];

/** `?limits=who,us`: known names, each once; WHO if there is none. */
export function limitsChoice(page: URL): string {
  const wanted = (page.searchParams.get("limits") ?? "").toLowerCase().split(",");
  return [...LIMITS.keys()].filter((id) => wanted.includes(id)).join(",") || DEFAULT;
}

export function limitsOf(choice: string): Limit[] {
  return choice.split(",").flatMap((id) => LIMITS.get(id) ?? []);
}

export const WHO = limitsOf(DEFAULT);

export function choiceInWords(choice: string): string {
  return listed([...new Set(limitsOf(choice).map(({ by }) => by))]);
}

/** "24 h", "15 min", with a blank that does not break. */
export function periodInWords(hours: number): string {
  return hours < 1 ? `${hours * 60}\u00a0min` : `${hours}\u00a0h`;
}

const GRAMS_PER_MOLE = 28.0101;
/** Of an ideal gas at 25 °C and 1013.25 hPa. */
const LITRES_PER_MOLE = 24.465;
const MG_PER_PPM = GRAMS_PER_MOLE / LITRES_PER_MOLE;

const MG_PER_UNIT = new Map([
  ["ppm", MG_PER_PPM],
  ["ppb", MG_PER_PPM / 1000],
  ["mg/m3", 1],
  ["ug/m3", 0.001],
]);

/** How many mg/m³ one unit of carbon monoxide is; null for a unit that the page does not know. */
export function mgPer(unit: string): number | null {
  const known = MG_PER_UNIT.get(unit);
  if (known !== undefined) return known;
  const plain = unit.toLowerCase().replace(/\s/g, "").replace("³", "3").replace("^3", "3").replace(/^[µμ]/, "u");
  return MG_PER_UNIT.get(plain) ?? null;
}

export function limitMg({ amount, unit }: Limit): number {
  return amount * mgPer(unit)!;
}

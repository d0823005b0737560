/** How well a sensor agrees with a reference instrument that is, or was, beside the van. */

import { count, fieldsOf, instantMs, number, text } from "./payload";
import { percent, significant } from "./words";

export interface Score {
  fromMs: number;
  toMs: number;
  windows: number;
  /** The mean of estimate minus reference. */
  bias: number;
  rmse: number;
  unit: string;
  r2: number | null;
  /** The share of the reference's values in the interval, and the share that should be. */
  coverage: number | null;
  level: number | null;
  model: string | null;
}

/** So much less than the level is too little, beyond chance. */
const POOR_COVERAGE = 0.1;

export function decodeScore(payload: Uint8Array, agent: string, sensor: string): Score | null {
  const fields = fieldsOf(payload);
  const [fromMs, toMs] = [instantMs(fields?.from), instantMs(fields?.to)];
  const [bias, rmse] = [number(fields?.bias), number(fields?.rmse)];
  if (fields?.v !== 1 || fields.agent !== agent || fields.sensor !== sensor) return null;
  if (fromMs === null || toMs === null || bias === null || rmse === null) return null;
  return {
    fromMs,
    toMs,
    windows: count(fields.windows),
    bias,
    rmse,
    unit: text(fields.unit) ?? "",
    r2: number(fields.r2),
    coverage: number(fields.coverage),
    level: number(fields.level),
    model: text(fields.model, 80),
  };
}

/** "0.021 ppm higher than the reference". */
export function biasInWords({ bias, unit }: Score): string {
  if (bias === 0) return "the same as the reference";
  return `${significant(Math.abs(bias), 2)} ${unit} ${bias > 0 ? "higher" : "lower"} than the reference`;
}

/** "89 % of the reference’s values; it should be 90 %". */
export function coverageInWords({ coverage, level }: Score): string {
  if (coverage === null) return "no interval";
  return `${percent(coverage)} of the reference’s values${level === null ? "" : `; it should be ${percent(level)}`}`;
}

export function isPoor({ coverage, level }: Score): boolean {
  return coverage !== null && level !== null && coverage < level - POOR_COVERAGE;
}

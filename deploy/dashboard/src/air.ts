/** The level of the air against limits, on the averages that the limits are for. Says nothing about the data. */

import { limitMg, mgPer, periodInWords, type Limit } from "./limits";
import type { Window } from "./wire";
import { concentration, shareInWords, sharedDecimals } from "./words";

/** An average needs values for this share of its time (EU 2008/50/EC, US EPA). */
const ENOUGH = 0.75;
const HOUR_MS = 3_600_000;
/** A value that failed its checks belongs in no average. */
const FAILED = 4;

export type AirLevel = 0 | 1 | 2 | 3;
export const AIR_WORDS: Record<AirLevel, string> = { 0: "Low", 1: "Moderate", 2: "High", 3: "Very high" };

/** Air at this level or above is a trouble of its own. */
export const HIGH = 2;

export interface Average {
  limit: Limit;
  /** The running average and the limit in the unit of the sensor; null where too many windows are missing. */
  mean: number | null;
  amount: number;
  /** For the mean: as many as the newest window has. */
  decimals: number;
}

export interface Air {
  level: AirLevel;
  why: string;
  unit: string;
  averages: Average[];
}

interface Finding {
  level: AirLevel;
  share: number;
  /** Whether it is about an average, which explains more than one window. */
  mean: boolean;
  why: string;
}

/** The last result for each day: lists of windows are replaced, never changed. */
const known = new WeakMap<Window[], { limits: Limit[]; air: Air | null }>();

export function airOf(windows: Window[], limits: Limit[]): Air | null {
  const kept = known.get(windows);
  if (kept?.limits === limits) return kept.air;
  const air = judge(windows, limits);
  known.set(windows, { limits, air });
  return air;
}

/** The air at the newest of these windows; null without a value, for another gas and for an unknown unit. */
function judge(windows: Window[], limits: Limit[]): Air | null {
  const newest = windows.findLast(({ unit }) => unit !== "");
  const scale = newest?.gas === "CO" ? mgPer(newest.unit) : null;
  if (!newest || scale === null) return null;
  const averages = limits.map((limit) => ({
    limit,
    mean: runningMean(windows, limit.hours, scale),
    amount: limitMg(limit) / scale,
    decimals: sharedDecimals(newest),
  }));
  const now = windows.at(-1) === newest ? newest.value : null;
  const findings = averages.flatMap((average) => [...overTime(average, newest.unit), ...atOnce(average, now, newest.unit)]);
  const top = findings.sort((a, b) => b.level - a.level || Number(b.mean) - Number(a.mean) || b.share - a.share)[0];
  return top ? { level: top.level, why: top.why, unit: newest.unit, averages } : null;
}

/** The level of one window by itself, as if no average were known. */
export function levelAlone(window: Window, limits: Limit[]): AirLevel {
  return judge([window], limits)?.level ?? 0;
}

/** The mean over the hours before the end of the newest window, in units of `scale` mg/m³. */
export function runningMean(windows: Window[], hours: number, scale: number): number | null {
  const fromMs = (windows.at(-1)?.endMs ?? 0) - hours * HOUR_MS;
  let [sum, coveredMs] = [0, 0];
  for (const { startMs, endMs, value, unit, gas, quality } of windows) {
    const mg = mgPer(unit);
    const insideMs = endMs - Math.max(startMs, fromMs);
    if (value === null || quality === FAILED || mg === null || gas !== "CO" || insideMs <= 0) continue;
    sum += (insideMs * value * mg) / scale;
    coveredMs += insideMs;
  }
  return coveredMs >= ENOUGH * hours * HOUR_MS ? sum / coveredMs : null;
}

function overTime({ limit, mean, amount, decimals }: Average, unit: string): Finding[] {
  if (mean === null) return [];
  const share = mean / amount;
  const acute = limit.hours < 1 && share > 1;
  const level = acute || share > 2 ? 3 : share > 1 ? 2 : share >= 0.5 ? 1 : 0;
  const period = periodInWords(limit.hours);
  return [{ level, share, mean: true, why: `${period} average ${concentration(mean, decimals)} ${unit}, ${against(limit, share, amount, unit)}` }];
}

/**
 * The newest window alone. An average over hours follows slowly, so a window above a limit of at most 8 h counts at
 * once. Before an average is known, the window stands in for it, up to "Moderate".
 */
function atOnce({ limit, mean, amount, decimals }: Average, now: number | null, unit: string): Finding[] {
  if (now === null) return [];
  const share = now / amount;
  const level = share > 1 ? aloneAbove(limit.hours, share) : share >= 0.5 && mean === null ? 1 : 0;
  return [{ level, share, mean: false, why: `Newest window ${concentration(now, decimals)} ${unit}, ${against(limit, share, amount, unit, periodInWords(limit.hours))}` }];
}

function aloneAbove(hours: number, share: number): AirLevel {
  if (hours > 8) return 1;
  return share > (hours < 1 ? 1 : hours <= 1 ? 2 : 4) ? 3 : 2;
}

function against({ by }: Limit, share: number, amount: number, unit: string, period = ""): string {
  const name = [by, period, "limit"].filter(Boolean).join(" ");
  if (share > 1) return `above the ${name} of ${limitInWords(amount)} ${unit}`;
  return `${shareInWords(share).replace(" %", "\u00a0%")} of the ${name}`;
}

/** Two digits: a limit of 4 mg/m³ is 3.5 ppm. */
export function limitInWords(amount: number): string {
  return String(Number(amount.toPrecision(amount >= 1000 ? 3 : 2)));
}

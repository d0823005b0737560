/** Numbers, times and codes as an operator would say them. */

import type { Quality } from "./wire";

const MINUTE_S = 60;
const HOUR_S = 3_600;
const DAY_S = 86_400;
const YEAR_S = 31_557_600;

export const QUALITY: Record<Quality, string> = { 1: "Good", 3: "Suspect", 4: "Fail", 9: "Missing" };

// Maps, not objects: a code called "constructor" is only an unknown code.
const CHANNELS = new Map([
  ["temperature", "Temperature"],
  ["op1", "OP1"],
  ["op2", "OP2"],
  ["bias", "Bias"],
]);

const REASONS = new Map([
  ["insufficient_coverage", "Too few readings in the window"],
  ["no_model", "No calibration model is loaded for this sensor"],
  ["stuck_value", "A channel has not changed at all"],
  ["clock_unsynchronised", "The gateway’s clock is not synchronised"],
  ["value_not_finite", "The model gave no finite value"],
]);

const OUTSIDE = "_outside_training";

export function channelName(channel: string): string {
  return CHANNELS.get(channel) ?? channel;
}

/** Reasons in plain words, all channels outside training as one; an unknown code only loses its underscores. */
export function reasonsInWords(codes: string[]): string[] {
  const outside = codes
    .filter((code) => code.endsWith(OUTSIDE))
    .map((code) => channelName(code.slice(0, -OUTSIDE.length)));
  const others = codes
    .filter((code) => !code.endsWith(OUTSIDE))
    .map((code) => REASONS.get(code) ?? code.replaceAll("_", " "));
  return outside.length === 0 ? others : [areInWords(outside, "outside the range the model was trained on"), ...others];
}

/** "OP1 is silent", "OP1 and OP2 are silent". */
export function areInWords(names: string[], state: string): string {
  return `${listed(names)} ${names.length === 1 ? "is" : "are"} ${state}`;
}

export function listed(items: string[]): string {
  return items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString("en-GB")} ${n === 1 ? one : many}`;
}

const SPANS: [number, string, number][] = [
  [YEAR_S * 2, "year", YEAR_S],
  [DAY_S * 2, "day", DAY_S],
  [HOUR_S * 2, "hour", HOUR_S],
  [MINUTE_S, "minute", MINUTE_S],
  [0, "second", 1],
];

/** A length of time in its largest sensible unit: "4 minutes", "3 days". */
export function span(seconds: number): string {
  const [, unit, size] = SPANS.find(([from]) => seconds >= from) ?? SPANS.at(-1)!;
  return plural(Math.max(0, Math.floor(seconds / size)), unit);
}

/** How long ago an instant was, by this device's clock. */
export function ago(atMs: number, nowMs: number): string {
  const seconds = (nowMs - atMs) / 1000;
  if (seconds < -60) return `${span(-seconds)} ahead of this device’s clock`;
  return seconds < 5 ? "just now" : `${span(seconds)} ago`;
}

const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

export function clockTime(ms: number): string {
  return TIME.format(ms);
}

/** The time alone today, with the date on any other day. */
export function when(ms: number, nowMs: number): string {
  const date = DATE.format(ms);
  return date === DATE.format(nowMs) ? TIME.format(ms) : `${date}, ${TIME.format(ms)}`;
}

/** One decimal more than a concentration, so that the terms of a sum add up. */
export function term(value: number): string {
  return signed(value.toFixed(3));
}

/** Two decimals for a concentration; never "-0.00". */
export function concentration(value: number | null): string {
  return value === null ? "–" : signed(value.toFixed(Math.abs(value) >= 100 ? 0 : 2));
}

/** Three significant digits for weights and readings of any size. */
export function significant(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  return size < -5 || size > 8
    ? signed(value.toExponential(digits - 1))
    : signed(value.toFixed(Math.max(0, digits - 1 - size)));
}

/** At most three significant digits, none of them idle zeros: for the ends of a range. */
export function brief(value: number | undefined): string {
  return value === undefined ? "–" : signed(String(Number(value.toPrecision(3))));
}

/** With a true minus sign, and no sign before zero. */
export function signed(digits: string): string {
  return Number(digits) === 0 ? digits.replace("-", "") : digits.replace("-", "−");
}

export function bytes(n: number | null): string {
  if (n === null) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  const step = n < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(n) / 3));
  const scaled = n / 1000 ** step;
  return `${scaled.toFixed(step === 0 || scaled >= 100 ? 0 : 1)} ${units[step]}`;
}

export function percent(fraction: number): string {
  return `${Math.round(fraction * 100)} %`;
}

/** The contract fixes degrees Celsius for temperature; what an electrode's board delivers it leaves open. */
export function withUnit(words: string, channel: string): string {
  return channel === "temperature" ? `${words} °C` : words;
}

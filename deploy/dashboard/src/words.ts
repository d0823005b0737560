/** Numbers, times and codes in plain words. */

import type { Quality } from "./wire";

const MINUTE_S = 60;
const HOUR_S = 3_600;
const DAY_S = 86_400;
const YEAR_S = 31_557_600;
/** Numbers of this size and above are shown as powers of ten. */
const HUGE = 1e6;
/** The wire contract gives nine decimals. */
const MOST_DECIMALS = 9;

export const QUALITY: Record<Quality, string> = { 1: "Data OK", 3: "Uncertain", 4: "Failed checks", 9: "No data" };

// Maps, not objects: in an object the code "constructor" would be found.
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
  ["swapped_suspected", "It does not follow the other sensors of its van: wrong plug, wrong gas or dead cell"],
  ["sensitivity_lost", "It reacts less to the gas than before"],
  ["drifting", "It drifts away from the other sensors of its van"],
  ["disagrees", "It differs from the other sensors of its van by more than its interval"],
  ["few_sensors", "Only two sensors took part: if one of them is wrong, nobody can say which"],
  ["too_few_sensors", "Fewer than two sensors can be used"],
  ["temperature_history_incomplete", "Warming up: the temperature history is incomplete"],
  ["moving", "The van was moving in this window"],
  ["clock_unsynchronised", "The gateway’s clock is not synchronised"],
  ["calibration_old", "The calibration is too old: this sensor is due for a new one"],
  ["value_not_finite", "The result is not a finite number"],
]);

const CAUSES = new Map([
  ["late_readings", "late readings"],
  ["late_sensor", "a late sensor"],
  ["clock_corrected", "a corrected clock"],
  ["recalibrated", "a new calibration"],
  ["withdrawn", "a withdrawal"],
]);

/** "Revised once, after late readings"; nothing for a first version. */
export function revisionInWords({ revision, cause }: { revision: number; cause: string | null }): string[] {
  if (revision === 0) return [];
  const why = cause === null ? "" : `, after ${CAUSES.get(cause) ?? cause.replaceAll("_", " ")}`;
  return [`Revised ${revision === 1 ? "once" : `${revision} times`}${why}`];
}

const OUTSIDE = "_outside_training";

/** Channels that the agent derives from the temperature history; the number is the time constant. */
const WARMING = /^warming_(\d+)h$/;

export function channelName(channel: string): string {
  const hours = WARMING.exec(channel)?.[1];
  return hours === undefined ? (CHANNELS.get(channel) ?? channel) : `Warming (${hours} h)`;
}

/** Reasons in plain words. Channels outside training share one sentence; an unknown code loses its underscores. */
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

/** How long ago an instant was. */
export function ago(atMs: number, nowMs: number): string {
  const seconds = (nowMs - atMs) / 1000;
  if (seconds < -60) return `${span(-seconds)} in the future`;
  return seconds < 5 ? "just now" : `${span(seconds)} ago`;
}

const DAY_OF_FACT = /^\d{4}-\d{2}-\d{2}(T[\d:.]+Z)?$/;
const LONG_FRACTION = /^-?\d*\.\d{5,}(e[+-]?\d+)?$/i;

/** A fact of a model card: dates as dates, long fractions shortened, anything else unchanged. */
export function factInWords(words: string): string {
  if (DAY_OF_FACT.test(words) && Number.isFinite(Date.parse(words))) return UTC_DATE.format(Date.parse(words));
  return LONG_FRACTION.test(words) ? significant(Number(words)) : words;
}

const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const UTC_DATE = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  year: "numeric",
  timeZone: "UTC",
});

export function utcDate(ms: number): string {
  return UTC_DATE.format(ms);
}

export function clockTime(ms: number): string {
  return TIME.format(ms);
}

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

export function dayAndMonth(ms: number): string {
  return DAY.format(ms);
}

/** For an axis of days: the day at midnight, the time at any other hour. */
export function dayOrTime(ms: number): string {
  const time = TIME.format(ms);
  return time === "00:00" ? DAY.format(ms) : time;
}

/** The time alone today, with the date on any other day. */
export function when(ms: number, nowMs: number): string {
  const date = DATE.format(ms);
  return date === DATE.format(nowMs) ? TIME.format(ms) : `${date}, ${TIME.format(ms)}`;
}

/** Two decimals for a concentration, or two digits if it is small, unless told; never "-0.00". */
export function concentration(value: number | null, decimals = decimalsOf(value ?? 0)): string {
  return value === null ? "–" : fixed(value, decimals);
}

interface Ranged {
  value: number | null;
  low: number | null;
  high: number | null;
}

/** The decimals that a value and its interval share: two digits of the width, or one if the value is 100 or more. */
export function sharedDecimals({ value, low, high }: Ranged): number {
  if (low === null || high === null || high <= low) return decimalsOf(value ?? high ?? 0);
  return Math.min(MOST_DECIMALS, Math.max(0, (Math.abs(value ?? 0) < 100 ? 1 : 0) - orderOf(high - low)));
}

/** The value of a window, to the precision of its interval. */
export function valueOf(window: Ranged): string {
  return concentration(window.value, sharedDecimals(window));
}

/** A term of the sum `total`, with one decimal more than the total, so that the terms add up. */
export function term(value: number, total: number | null): string {
  return fixed(value, decimalsOf(total ?? 1) + 1);
}

/** Both ends of an interval, to the precision of its value. A low end below zero is shown as 0 if the value is not. */
export function ends(value: number | null, low: number, high: number): [string, string] {
  const [from, to] = trueEnds(value, low, high);
  return [low === 0 || (low < 0 && (value ?? 0) >= 0) ? "0" : from, to];
}

/** Both ends as they were published. */
export function trueEnds(value: number | null, low: number, high: number): [string, string] {
  const decimals = sharedDecimals({ value, low, high });
  return [fixed(low, decimals), fixed(high, decimals)];
}

/** The power of ten of a number that is not zero. */
function orderOf(value: number): number {
  return Math.floor(Math.log10(Math.abs(value)));
}

function decimalsOf(value: number): number {
  const size = Math.abs(value);
  if (size >= 100) return 0;
  return size >= 0.1 || size === 0 ? 2 : Math.min(MOST_DECIMALS, 1 - orderOf(size));
}

function fixed(value: number, decimals: number): string {
  return Math.abs(value) >= HUGE ? significant(value) : signed(value.toFixed(decimals));
}

/** A reading of a channel. The contract fixes degrees Celsius for temperatures and no unit for electrodes. */
export function reading(value: number, channel: string): string {
  return inCelsius(channel) ? withUnit(fixed(value, WARMING.test(channel) ? 2 : 1), channel) : significant(value, 4);
}

/** Three significant digits for weights and readings of any size. */
export function significant(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = orderOf(value);
  return Math.abs(value) >= HUGE || size < -5
    ? signed(value.toExponential(digits - 1).replace("e+", "e"))
    : signed(value.toFixed(Math.max(0, digits - 1 - size)));
}

/** At most three significant digits, without trailing zeros: for the ends of a range. */
export function brief(value: number | undefined): string {
  if (value === undefined) return "–";
  return Math.abs(value) >= HUGE ? significant(value) : signed(String(Number(value.toPrecision(3))));
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

/** Never rounded to 0 % or 100 %. */
export function percent(fraction: number): string {
  const whole = Math.round(fraction * 100);
  const exact = fraction === 0 || fraction === 1 || (whole > 0 && whole < 100);
  return `${exact ? whole : Number((fraction * 100).toPrecision(3))} %`;
}

/** A share of a limit; small ones have no digits to read. */
export function shareInWords(share: number): string {
  return share > 0 && share < 0.005 ? "below 1 %" : percent(Math.max(0, share));
}

export function withUnit(words: string, channel: string): string {
  return inCelsius(channel) ? `${words} °C` : words;
}

function inCelsius(channel: string): boolean {
  return channel === "temperature" || WARMING.test(channel);
}

/** "Europe/Berlin (UTC+1)". */
export function zoneInWords(): string {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  const parts = new Intl.DateTimeFormat("en-GB", { timeZoneName: "shortOffset" }).formatToParts();
  const offset = (parts.find(({ type }) => type === "timeZoneName")?.value ?? "UTC").replace("GMT", "UTC").replace(/\+0$/, "");
  return timeZone === "UTC" || !timeZone ? offset : `${timeZone} (${offset})`;
}

/** Why data may be wrong although every check of the agent passed: a poor model, or sensors that disagree. */

import { agentOf, type Fleet, type Sensor } from "./fleet";
import type { Card, Estimate } from "./wire";
import { listed, plural, significant } from "./words";

/** A model that explains less than half of the variance in its test is little better than a constant. */
const POOR_R2 = 0.5;
/** Sensors disagree when their intervals do not overlap in this many windows in a row. */
const APART_WINDOWS = 4;
/** An interval this many times as wide as the usual one of the van's other sensors says little. */
const WIDE_BESIDE = 4;
const MOST_NAMES = 3;
/** A value that failed its checks says nothing about other sensors. */
const FAILED = 4;

/** In words, why the model of a sensor is not to be relied on; empty if nothing speaks against it. */
export function modelDoubts({ card, windows }: Sensor): string[] {
  const r2 = card && testR2(card);
  if (r2 !== null && r2 < POOR_R2) return [`The model is poor: R² was ${significant(r2, 2)} in its test`];
  const kept = known.get(windows) ?? wide(windows);
  known.set(windows, kept);
  return kept;
}

/** The last result for each day: lists of windows are replaced, never changed. */
const known = new WeakMap<Estimate[], string[]>();

function testR2({ provenance }: Card): number | null {
  const words = provenance.r2_test ?? provenance.r2 ?? "";
  return words === "" || !Number.isFinite(Number(words)) ? null : Number(words);
}

/** The interval is as wide as the values themselves, so that they could as well be zero. */
function wide(windows: Estimate[]): string[] {
  const sound = windows.filter(({ value, low, high }) => value !== null && low !== null && high !== null);
  if (sound.length === 0) return [];
  const usual = median(sound.map(({ value }) => value!));
  const half = median(sound.map(({ low, high }) => (high! - low!) / 2));
  return half > Math.abs(usual) ? [`The interval is wide: ± ${significant(half, 2)} ${sound.at(-1)!.unit}, more than the usual value`] : [];
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1]!;
}

/** For each sensor that stands apart from the others of its van: that it disagrees with most, or knows much less. */
export function disagreements(fleet: Fleet): Map<Sensor, string> {
  const found = new Map<Sensor, string>();
  for (const group of groups(fleet))
    for (const sensor of group) {
      const others = group.filter((other) => other !== sensor && apart(sensor, other));
      if (2 * others.length > group.length - 1) found.set(sensor, `Disagrees with ${namesOf(others)} for the last hour or longer`);
      else if (wideBeside(group, sensor)) found.set(sensor, `The interval is more than ${WIDE_BESIDE} times as wide as those of the other sensors`);
    }
  return found;
}

function wideBeside(group: Sensor[], sensor: Sensor): boolean {
  const others = group.filter((other) => other !== sensor).map(widthOf);
  return others.length > 1 && widthOf(sensor) > WIDE_BESIDE * median(others);
}

function widthOf({ newest }: Sensor): number {
  return newest!.high! - newest!.low!;
}

/** Sensors of one van that measure the same gas in the same unit at the same time. */
function groups(fleet: Fleet): Sensor[][] {
  const found = new Map<string, Sensor[]>();
  for (const sensor of fleet.sensors.values()) {
    const { newest } = sensor;
    if (newest?.low == null || newest.high === null || agentOf(fleet, sensor)?.status === "offline") continue;
    const key = [sensor.agent, newest.gas, newest.unit, newest.startMs].join("/");
    const group = found.get(key);
    if (group) group.push(sensor);
    else found.set(key, [sensor]);
  }
  return [...found.values()];
}

function apart(a: Sensor, b: Sensor): boolean {
  if (a.windows.length < APART_WINDOWS || b.windows.length < APART_WINDOWS) return false;
  for (let i = 1; i <= APART_WINDOWS; i++) {
    const [mine, theirs] = [a.windows.at(-i)!, b.windows.at(-i)!];
    if (mine.startMs !== theirs.startMs || !(above(mine, theirs) || above(theirs, mine))) return false;
  }
  return true;
}

function above(a: Estimate, b: Estimate): boolean {
  return a.quality !== FAILED && b.quality !== FAILED && a.low !== null && b.high !== null && a.low > b.high;
}

function namesOf(sensors: Sensor[]): string {
  const names = sensors.map(({ name }) => name);
  return names.length <= MOST_NAMES ? listed(names) : `${names.slice(0, MOST_NAMES - 1).join(", ")} and ${plural(names.length - MOST_NAMES + 1, "other sensor")}`;
}

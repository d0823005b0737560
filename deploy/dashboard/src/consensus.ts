/** The consensus of a van: one estimate of all its sensors, who took part, who did not and why. */

import { entries, fieldsOf, number, text, type Fields } from "./payload";
import { windowOf, type Window } from "./wire";
import { plural } from "./words";

export interface Consensus extends Window {
  /** The sensors that took part, each with its share. */
  sensors: Record<string, number>;
  /** The sensors that did not, each with the reason. */
  leftOut: Record<string, string>;
}

/** The consensus in a payload; null if it is not of the agent in its topic. */
export function decodeConsensus(payload: Uint8Array, agent: string): Consensus | null {
  const consensus = consensusOf(fieldsOf(payload));
  return consensus?.agent === agent ? consensus : null;
}

/** The consensus in a map; null for anything else. */
export function consensusOf(fields: Fields | null): Consensus | null {
  const window = windowOf(fields);
  return window && { ...window, sensors: entries(fields?.sensors, number), leftOut: entries(fields?.left_out, text) };
}

const WHY = new Map([
  ["no_value", "it has no value"],
  ["failed", "its value failed the checks"],
  ["other_unit", "it measures another gas, or in another unit"],
  ["stuck_value", "one of its channels has not changed at all"],
  ["swapped_suspected", "it does not follow the others: wrong plug, wrong gas or dead cell"],
  ["sensitivity_lost", "it reacts less to the gas than before"],
  ["drifting", "it drifts away from the others"],
  ["disagrees", "it has differed from the others for days"],
  ["no_interval", "it has no interval"],
  ["far_from_others", "its value is far from the others"],
  ["alone", "no other sensor can be used"],
]);

/** "From 5 of 6 sensors". */
export function sharersInWords({ sensors, leftOut }: Consensus): string {
  const taking = Object.keys(sensors).length;
  return `From ${taking} of ${plural(taking + Object.keys(leftOut).length, "sensor")}`;
}

/** Each sensor that was left out, with the reason in words; an unknown reason loses its underscores. */
export function leftOutInWords({ leftOut }: Consensus): [sensor: string, why: string][] {
  return Object.entries(leftOut).map(([sensor, code]) => [sensor, `left out: ${WHY.get(code) ?? code.replaceAll("_", " ")}`]);
}

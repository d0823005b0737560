/** The answers to requests for the past. */

import { consensusOf, type Consensus } from "./consensus";
import { asFields, count, fieldsOf, MAX_TEXT, text } from "./payload";
import { estimateOf, type Estimate } from "./wire";

export interface Answer {
  id: string;
  index: number;
  of: number;
  /** Whether there is more after the last answer. */
  more: boolean;
  /** The estimate of a sensor or the consensus of a van, as it was asked for. */
  found: Estimate | Consensus | null;
  error: string | null;
}

export function decodeAnswer(payload: Uint8Array): Answer | null {
  const fields = fieldsOf(payload);
  const id = text(fields?.id);
  if (!fields || id === null) return null;
  const found = estimateOf(asFields(fields.estimate)) ?? consensusOf(asFields(fields.consensus));
  return { id, index: count(fields.index), of: count(fields.of), more: fields.more === true, found, error: text(fields.error, MAX_TEXT) };
}

/** Whose estimate it is; the consensus is no sensor's. */
export function sensorOf(found: Estimate | Consensus): string | null {
  return "sensor" in found ? found.sensor : null;
}

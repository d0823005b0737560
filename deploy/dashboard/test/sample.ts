import type { Estimate } from "../src/wire";

export const WINDOW_MS = 900_000;
export const START_MS = Date.UTC(2024, 1, 1, 10, 15);

export function bytesOf(words: string): Uint8Array {
  return new TextEncoder().encode(words);
}

/** The estimate of the contract's own example. */
export function estimateJson(changes: object = {}): object {
  return {
    v: 1,
    sensor: "5A2D",
    gas: "CO",
    value: 0.834,
    unit: "ppm",
    low: 0.71,
    high: 0.95,
    level: 0.9,
    start: "2024-02-01T10:15:00Z",
    end: "2024-02-01T10:30:00Z",
    seq: 1042,
    revision: 0,
    quality: 1,
    reasons: [],
    inputs: { op1: 231.4, op2: 206.1, temperature: 24.3 },
    minutes: { op1: 15, op2: 15, temperature: 14, expected: 15 },
    weights: { op1: 0.0121, op2: -0.0103, bias: 0.04 },
    model: "sha256:9f3c01ab23cd4567",
    agent: "van-1",
    clock: "synchronised",
    ...changes,
  };
}

/** The window `index` windows after 10:15. */
export function window(index: number, changes: Partial<Estimate> = {}): Estimate {
  return {
    sensor: "5A2D",
    gas: "CO",
    value: 0.8,
    low: 0.7,
    high: 0.9,
    level: 0.9,
    unit: "ppm",
    unitAt: {},
    startMs: START_MS + index * WINDOW_MS,
    endMs: START_MS + (index + 1) * WINDOW_MS,
    seq: 1000 + index,
    revision: 0,
    cause: null,
    quality: 1,
    reasons: [],
    inputs: {},
    minutes: {},
    expectedMinutes: 15,
    weights: {},
    model: null,
    agent: "van-1",
    clock: "synchronised",
    position: null,
    site: null,
    ...changes,
  };
}

/** "One. Two." → ["One.", "Two."] */
export function sentences(words: string): string[] {
  return words.split(/(?<=\.) /);
}

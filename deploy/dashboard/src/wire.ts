/** The wire contract for a subscriber. Every decoder takes any bytes and returns a value or null. */

import {
  asFields,
  count,
  entries,
  fieldsOf,
  instantMs,
  names,
  number,
  plain,
  range,
  samples,
  text,
  topicLevel,
} from "./payload";
import type { Fields } from "./payload";

export type Quality = 1 | 3 | 4 | 9;

/** What an estimate of a sensor and the consensus of a van have in common. */
export interface Window {
  /** Gas and unit are empty without a model. */
  gas: string;
  unit: string;
  value: number | null;
  low: number | null;
  high: number | null;
  level: number | null;
  startMs: number;
  endMs: number;
  seq: number;
  revision: number;
  /** Why it was revised. */
  cause: string | null;
  quality: Quality;
  reasons: string[];
  agent: string;
}

export interface Estimate extends Window {
  sensor: string;
  /** The conditions at which a cubic metre is meant; empty if none are given. */
  unitAt: Record<string, number>;
  inputs: Record<string, number | null>;
  minutes: Record<string, number>;
  expectedMinutes: number | null;
  weights: Record<string, number>;
  model: string | null;
  clock: string | null;
  position: { lat: number; lon: number; spreadM: number | null; speedKmh: number | null } | null;
  site: string | null;
}

export interface Card {
  id: string;
  unit: string;
  channels: string[];
  auxiliary: string;
  kernel: string | null;
  support: number | null;
  domain: Record<string, [number, number]>;
  interval: { halfWidth: number; level: number } | null;
  /** When the calibration is too old. */
  validUntilMs: number | null;
  provenance: Record<string, string>;
  /** The auxiliary variable first (`x`), then one curve per channel and `bias`, all of one length. */
  x: number[];
  curves: Record<string, number[]>;
}

export interface SensorHealth {
  silent: string[];
  stuck: string[];
  /** Why the other sensors of the van speak against it. */
  suspected: string[];
}

export interface Health {
  version: string | null;
  atMs: number | null;
  intervalS: number | null;
  uptimeS: number | null;
  clock: string | null;
  readings: Record<string, number>;
  outbox: { depth: number; oldestS: number | null; dropped: number } | null;
  sensors: Record<string, SensorHealth>;
  rssBytes: number | null;
  writtenBytes: number | null;
  journalBytes: number | null;
}

const MAX_CHANNELS = 8;

/** The estimate in a payload; null if it is not of the sensor and the agent in its topic. */
export function decodeEstimate(payload: Uint8Array, agent: string, sensor: string): Estimate | null {
  const estimate = estimateOf(fieldsOf(payload));
  return estimate?.sensor === sensor && estimate.agent === agent ? estimate : null;
}

/** The common fields; null without a time, an agent or a quality. */
export function windowOf(fields: Fields | null): Window | null {
  const startMs = instantMs(fields?.start);
  const endMs = instantMs(fields?.end);
  const agent = topicLevel(fields?.agent);
  const quality = fields?.quality;
  if (fields?.v !== 1 || agent === null || startMs === null || endMs === null || endMs <= startMs) return null;
  if (quality !== 1 && quality !== 3 && quality !== 4 && quality !== 9) return null;
  return {
    gas: text(fields.gas) ?? "",
    unit: text(fields.unit) ?? "",
    value: number(fields.value),
    low: number(fields.low),
    high: number(fields.high),
    level: number(fields.level),
    startMs,
    endMs,
    seq: count(fields.seq),
    revision: count(fields.revision),
    cause: text(fields.cause),
    quality,
    reasons: names(fields.reasons, 16),
    agent,
  };
}

/** The estimate in a map; null for anything else. */
export function estimateOf(fields: Fields | null): Estimate | null {
  const window = windowOf(fields);
  const name = topicLevel(fields?.sensor);
  if (!fields || !window || name === null) return null;
  const { expected, ...minutes } = entries(fields.minutes, number, MAX_CHANNELS + 1);
  return {
    ...window,
    sensor: name,
    unitAt: entries(fields.unit_at, number, MAX_CHANNELS),
    inputs: entries(fields.inputs, number, MAX_CHANNELS),
    minutes,
    expectedMinutes: expected ?? null,
    weights: entries(fields.weights, number, MAX_CHANNELS + 1),
    model: text(fields.model, 80),
    clock: text(fields.clock),
    position: positionOf(fields.position),
    site: text(fields.site),
  };
}

function positionOf(raw: unknown): Estimate["position"] {
  const fields = asFields(raw);
  const [lat, lon] = [number(fields?.lat), number(fields?.lon)];
  if (lat === null || lon === null || Math.abs(lat) > 90 || Math.abs(lon) > 180) return null;
  return { lat, lon, spreadM: number(fields?.spread_m), speedKmh: number(fields?.speed_kmh) };
}

function intervalOf(raw: unknown): Card["interval"] {
  const halfWidth = number(asFields(raw)?.half_width);
  const level = number(asFields(raw)?.level);
  return halfWidth === null || level === null ? null : { halfWidth, level };
}

export function decodeCard(payload: Uint8Array, sensor: string): Card | null {
  const fields = fieldsOf(payload);
  const id = text(fields?.id, 80);
  if (fields?.v !== 1 || fields.sensor !== sensor || id === null) return null;
  const auxiliary = text(fields.auxiliary) ?? "temperature";
  const { [auxiliary]: x = [], ...curves } = entries(fields.curves, samples, MAX_CHANNELS + 2);
  const rising = x.every((at, i) => i === 0 || at > x[i - 1]!);
  return {
    id,
    unit: text(fields.unit) ?? "",
    channels: names(fields.channels, MAX_CHANNELS),
    auxiliary,
    kernel: text(fields.kernel),
    support: number(fields.support),
    domain: entries(fields.domain, range, MAX_CHANNELS + 1),
    interval: intervalOf(fields.interval),
    validUntilMs: instantMs(fields.valid_until),
    provenance: entries(fields.provenance, plain, 24),
    x: rising ? x : [],
    curves: Object.fromEntries(Object.entries(curves).filter(([, y]) => rising && y.length === x.length)),
  };
}

function sensorHealthOf(raw: unknown): SensorHealth | null {
  const fields = asFields(raw);
  return (
    fields && {
      silent: names(fields.silent, MAX_CHANNELS + 1),
      stuck: names(fields.stuck, MAX_CHANNELS + 1),
      suspected: names(fields.suspected, MAX_CHANNELS),
    }
  );
}

export function decodeHealth(payload: Uint8Array): Health | null {
  const fields = fieldsOf(payload);
  if (fields?.v !== 1) return null;
  const outbox = asFields(fields.outbox);
  return {
    version: text(fields.version),
    atMs: instantMs(fields.at),
    intervalS: number(fields.interval_s),
    uptimeS: number(fields.uptime_s),
    clock: text(fields.clock),
    readings: entries(fields.readings, number, 16),
    outbox: outbox && {
      depth: count(outbox.depth),
      oldestS: number(outbox.oldest_s),
      dropped: count(outbox.dropped),
    },
    sensors: Object.fromEntries(
      Object.entries(entries(fields.sensors, sensorHealthOf)).filter(([name]) => topicLevel(name) !== null),
    ),
    rssBytes: number(fields.rss_bytes),
    writtenBytes: number(fields.written_bytes),
    journalBytes: number(fields.journal_bytes),
  };
}

export function decodeStatus(payload: Uint8Array): "online" | "offline" | null {
  const word = payload.length > 16 ? "" : new TextDecoder().decode(payload).trim();
  return word === "online" || word === "offline" ? word : null;
}

export type Subject =
  | { kind: "estimate" | "latest" | "card" | "score"; agent: string; sensor: string }
  | { kind: "status" | "health" | "consensus" | "latestConsensus"; agent: string }
  | { kind: "answer"; agent: string; id: string };

export const SUBSCRIPTIONS = [
  "respire/+/status",
  "respire/+/health",
  "respire/+/calibrated/+/model",
  "respire/+/calibrated/+/co/latest",
  "respire/+/calibrated/+/co",
  "respire/+/calibrated/+/co/score",
  "respire/+/consensus/co/latest",
  "respire/+/consensus/co",
];

const OF_SENSOR = new Map<string, "estimate" | "latest" | "card" | "score">([
  ["co", "estimate"],
  ["co/latest", "latest"],
  ["co/score", "score"],
  ["model", "card"],
]);

/** The subject of a topic; null for a topic outside the contract. */
export function subjectOf(topic: string): Subject | null {
  const [root, agent = "", leaf = "", name = "", ...below] = topic.split("/");
  if (root !== "respire" || topicLevel(agent) === null) return null;
  if (leaf === "calibrated" && topicLevel(name) !== null) return ofSensor(agent, name, below.join("/"));
  if (leaf === "consensus" && name === "co" && (below.length === 0 || below.join("/") === "latest"))
    return { kind: below.length === 0 ? "consensus" : "latestConsensus", agent };
  if (below.length > 0) return null;
  if (leaf === "response" && name !== "") return { kind: "answer", agent, id: name };
  if ((leaf === "status" || leaf === "health") && name === "") return { kind: leaf, agent };
  return null;
}

function ofSensor(agent: string, sensor: string, leaf: string): Subject | null {
  const kind = OF_SENSOR.get(leaf);
  return kind ? { kind, agent, sensor } : null;
}

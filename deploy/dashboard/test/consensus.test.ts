import { expect, test } from "vitest";
import { decodeConsensus, leftOutInWords, sharersInWords } from "../src/consensus";
import { Fleet } from "../src/fleet";
import { biasInWords, coverageInWords, decodeScore, isPoor } from "../src/score";
import { staleSinceMs, verdict } from "../src/verdict";
import { decodeHealth, subjectOf } from "../src/wire";
import { bytesOf, START_MS, window, WINDOW_MS } from "./sample";

/** The consensus of the contract's own example. */
function consensus(changes: object = {}): Uint8Array {
  const record = {
    v: 1, gas: "CO", value: 0.827, unit: "ppm", low: 0.751, high: 0.903, level: 0.9, spread: 0.041,
    start: "2024-02-01T10:15:00Z", end: "2024-02-01T10:30:00Z", seq: 311, revision: 0, quality: 1, reasons: [],
    sensors: { "1FEA": 0.3122, "5A2D": 0.3514, B5FF: 0.3364 }, left_out: { "5092": "far_from_others" }, agent: "van-1",
  };
  return bytesOf(JSON.stringify({ ...record, ...changes }));
}

function score(changes: object = {}): Uint8Array {
  const record = {
    v: 1, agent: "van-1", sensor: "5A2D", gas: "CO", from: "2024-02-01T09:00:00Z", to: "2024-02-02T09:00:00Z",
    windows: 96, bias: 0.021, rmse: 0.064, unit: "ppm", r2: 0.953, coverage: 0.885417, level: 0.9, model: "sha256:1",
  };
  return bytesOf(JSON.stringify({ ...record, ...changes }));
}

test("who took part, and who did not and why, is said in words", () => {
  const told = decodeConsensus(consensus({ left_out: { "5092": "far_from_others", D3EB: "new_reason" } }), "van-1")!;
  expect(sharersInWords(told)).toBe("From 3 of 5 sensors");
  expect(leftOutInWords(told)).toEqual([
    ["5092", "left out: its value is far from the others"],
    ["D3EB", "left out: new reason"],
  ]);
});

test("a consensus or a score of another agent, and one without what matters, is refused", () => {
  expect(decodeConsensus(consensus(), "van-2")).toBeNull();
  for (const changes of [{ v: 2 }, { quality: 2 }, { end: null }, { agent: 7 }]) expect(decodeConsensus(consensus(changes), "van-1")).toBeNull();
  expect(decodeScore(score(), "van-2", "5A2D")).toBeNull();
  for (const changes of [{ v: 2 }, { sensor: "B5FF" }, { to: "soon" }, { bias: null }]) expect(decodeScore(score(changes), "van-1", "5A2D")).toBeNull();
  for (const words of ["", "null", "[]", "{", "1e999"]) expect([decodeConsensus(bytesOf(words), "van-1"), decodeScore(bytesOf(words), "van-1", "5A2D")]).toEqual([null, null]);
});

test("the newest consensus stays until it is cleared, and becomes stale", () => {
  const fleet = new Fleet();
  fleet.addConsensus(decodeConsensus(consensus(), "van-1")!, START_MS + WINDOW_MS);
  fleet.addConsensus(decodeConsensus(consensus({ start: "2024-02-01T10:00:00Z", end: "2024-02-01T10:15:00Z", seq: 312, revision: 1 }), "van-1")!, null);
  const { agreed } = fleet.agents.get("van-1")!;
  expect(agreed.newest!.seq).toBe(311);
  expect([2, 4].map((windows) => staleSinceMs(fleet, agreed, START_MS + windows * WINDOW_MS))).toEqual([null, START_MS + WINDOW_MS]);
  fleet.dropConsensus("van-1");
  expect(fleet.agents.get("van-1")!.agreed.newest).toBeNull();
});

test("a score is said in words", () => {
  const told = (changes: object) => decodeScore(score(changes), "van-1", "5A2D")!;
  expect([0.021, -0.3, 0].map((bias) => biasInWords(told({ bias })))).toEqual([
    "0.021 ppm higher than the reference",
    "0.30 ppm lower than the reference",
    "the same as the reference",
  ]);
  expect(coverageInWords(told({}))).toBe("89 % of the reference’s values; it should be 90 %");
  expect(coverageInWords(told({ coverage: null }))).toBe("no interval");
  expect([0.9, 0.81, 0.79, null].map((coverage) => isPoor(told({ coverage })))).toEqual([false, false, true, false]);
});

test("a suspicion in health is a problem of the sensor before its next window, and only once after it", () => {
  const fleet = new Fleet();
  const suspected = "It drifts away from the other sensors of its van";
  const texts = () => verdict(fleet, START_MS + 2 * WINDOW_MS).troubles.map(({ who, text }) => [who, text]);
  const health = { v: 1, sensors: { "5A2D": { silent: [], stuck: [], suspected: ["drifting"] } } };
  fleet.addEstimate(window(0), null);
  fleet.setHealth("van-1", decodeHealth(bytesOf(JSON.stringify(health)))!, null);
  expect(texts()).toEqual([["5A2D", suspected]]);
  fleet.addEstimate(window(1, { quality: 3, reasons: ["drifting"] }), null);
  expect(texts()).toEqual([["5A2D", suspected]]);
});

test("the topics of a consensus and of a score have a subject", () => {
  expect(subjectOf("respire/van-1/consensus/co")).toEqual({ kind: "consensus", agent: "van-1" });
  expect(subjectOf("respire/van-1/consensus/co/latest")).toEqual({ kind: "latestConsensus", agent: "van-1" });
  expect(subjectOf("respire/van-1/calibrated/5A2D/co/score")).toEqual({ kind: "score", agent: "van-1", sensor: "5A2D" });
  for (const topic of ["respire/van-1/consensus", "respire/van-1/consensus/no2", "respire/van-1/consensus/co/x", "respire/van-1/consensus/co/latest/x"])
    expect(subjectOf(topic)).toBeNull();
});

import { describe, expect, test } from "vitest";
import { decodeAnswer } from "../src/answer";
import { decodeCard, decodeEstimate, decodeHealth, decodeStatus, subjectOf } from "../src/wire";
import { bytesOf, estimateJson } from "./sample";

const HOSTILE = [
  "",
  "null",
  "[]",
  "1e999",
  "{",
  "[".repeat(120_000),
  `{"v":1,"sensor":"${"x".repeat(140_000)}"}`,
  '{"v":1,"sensor":"5A2D","start":"never","end":"2024-02-01T10:30:00Z","quality":1}',
  '{"v":1,"__proto__":{"sensor":"5A2D"}}',
];

describe("decoders are total", () => {
  test.each<(payload: Uint8Array, agent: string, sensor: string) => unknown>([decodeEstimate, decodeCard, decodeHealth, decodeStatus, decodeAnswer])(
    "%o gives null for broken bytes",
    (decode) => {
      for (const words of HOSTILE.slice(0, 7)) expect(decode(bytesOf(words), "van-1", "5A2D")).toBeNull();
      expect(decode(new Uint8Array([0xff, 0xfe, 0x80]), "van-1", "5A2D")).toBeNull();
    },
  );

  test.each(HOSTILE)("no estimate in %.40s", (words) => {
    expect(decodeEstimate(bytesOf(words), "van-1", "5A2D")).toBeNull();
  });

  test.each([
    ["another version", { v: 2 }],
    ["another sensor", { sensor: "B5FF" }],
    ["another agent", { agent: "van-2" }],
    ["an agent that is two topic levels", { agent: "van-1/a" }],
    ["a sensor that is a wildcard", { sensor: "+" }],
    ["a sensor whose name turns the text around", { sensor: "\u202eD2A5" }],
    ["an end before its start", { end: "2024-02-01T10:00:00Z" }],
    ["a quality outside QARTOD", { quality: 2 }],
  ])("an estimate of %s is refused", (_, changes) => {
    expect(decodeEstimate(bytesOf(JSON.stringify(estimateJson(changes))), "van-1", "5A2D")).toBeNull();
  });
});

test("an estimate is read field by field", () => {
  const estimate = decodeEstimate(bytesOf(JSON.stringify(estimateJson())), "van-1", "5A2D")!;
  expect(estimate).toMatchObject({
    value: 0.834,
    low: 0.71,
    startMs: Date.UTC(2024, 1, 1, 10, 15),
    endMs: Date.UTC(2024, 1, 1, 10, 30),
    expectedMinutes: 15,
    model: "sha256:9f3c01ab23cd4567",
    agent: "van-1",
  });
  expect({ ...estimate.minutes }).toEqual({ op1: 15, op2: 15, temperature: 14 });
});

test("a number above 1e100 is null", () => {
  const value = (size: string) =>
    decodeEstimate(bytesOf(JSON.stringify(estimateJson()).replace("0.834", size)), "van-1", "5A2D")!.value;
  expect([value("1e99"), value("-1e308"), value("1e400")]).toEqual([1e99, null, null]);
});

test("text and lists from the network are cut to a bound", () => {
  const reasons = Array(60).fill("r".repeat(1000));
  const estimate = decodeEstimate(bytesOf(JSON.stringify(estimateJson({ reasons }))), "van-1", "5A2D")!;
  expect(estimate.reasons).toEqual(Array(16).fill("r".repeat(64)));
});

test("a card keeps only curves that fit its temperatures, and none if these do not rise", () => {
  const card = (temperature: number[]) =>
    decodeCard(
      bytesOf(
        JSON.stringify({
          v: 1,
          sensor: "5A2D",
          id: "sha256:1",
          channels: ["op1"],
          auxiliary: "temperature",
          curves: { temperature, op1: [1, 2, 3], bias: [1, 2] },
        }),
      ),
      "5A2D",
    )!;
  expect(Object.keys(card([1, 2, 3]).curves)).toEqual(["op1"]);
  expect(card([1, 3, 2])).toMatchObject({ x: [], curves: {} });
});

test("a card says until when its calibration is valid, if it says so", () => {
  const until = (valid_until: unknown) =>
    decodeCard(bytesOf(JSON.stringify({ v: 1, sensor: "5A2D", id: "sha256:1", valid_until })), "5A2D")!.validUntilMs;
  expect(["2024-05-06T00:00:00Z", null, undefined, "soon", 7].map(until)).toEqual([1_714_953_600_000, null, null, null, null]);
});

test("an answer has an estimate, a consensus or neither", () => {
  const { sensor: _, ...common } = estimateJson() as { sensor: string };
  const found = (fields: object) => decodeAnswer(bytesOf(JSON.stringify({ id: "a", of: 1, index: 0, ...fields })))!.found;
  expect(found({ estimate: estimateJson() })).toMatchObject({ sensor: "5A2D", seq: 1042 });
  expect(found({ consensus: { ...common, sensors: {}, left_out: { "5A2D": "alone" } } })).toMatchObject({ leftOut: { "5A2D": "alone" }, seq: 1042 });
  expect([found({ estimate: null }), found({ consensus: 7 })]).toEqual([null, null]);
});

test("names are those the agent accepts", () => {
  for (const name of ["5A2D", "ä b", "😀", "x".repeat(64)]) expect(subjectOf(`respire/van-1/calibrated/${name}/co`)).not.toBeNull();
  for (const name of ["", "\u202e", "a\u200bb", "a\u00a0b", "a\tb", "\ue000", "x".repeat(65)])
    expect(subjectOf(`respire/van-1/calibrated/${name}/co`)).toBeNull();
});

test("topics outside the contract have no subject", () => {
  expect(subjectOf("respire/van-1/calibrated/5A2D/co/latest")).toEqual({ kind: "latest", agent: "van-1", sensor: "5A2D" });
  expect(subjectOf("respire/van-1/response/7")).toEqual({ kind: "answer", agent: "van-1", id: "7" });
  for (const topic of [
    "",
    "respire",
    "respire/van-1",
    "respire//status",
    "respire/van-1/status/x",
    "respire/van-1/calibrated",
    "respire/van-1/calibrated//co",
    "respire/van-1/calibrated/5A2D/no2",
    "respire/van-1/calibrated/5A2D/co/latest/x",
    "respire/van-1/calibrated/5A2D/constructor",
    "respire/van-1/response",
    "respire/van-1/response/7/8",
    "calibrated/5A2D/co",
  ])
    expect(subjectOf(topic)).toBeNull();
});

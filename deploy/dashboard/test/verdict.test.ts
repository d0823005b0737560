import { describe, expect, test } from "vitest";
import { Fleet } from "../src/fleet";
import { lastUpdateMs, staleSinceMs, verdict } from "../src/verdict";
import { decodeHealth, type Estimate } from "../src/wire";
import { ago, concentration, ends, factInWords, percent, reading, reasonsInWords, shareInWords, span, term, trueEnds, valueOf } from "../src/words";
import { bytesOf, START_MS, window, WINDOW_MS, sentences } from "./sample";

const END_MS = START_MS + WINDOW_MS;

function fleetOf(changes: Partial<Estimate> = {}, heardMs: number | null = END_MS): Fleet {
  const fleet = new Fleet();
  fleet.setStatus("van-1", "online");
  fleet.addEstimate(window(0, changes), heardMs);
  return fleet;
}

function healthOf(changes: object): Uint8Array {
  return bytesOf(JSON.stringify({ v: 1, sensors: {}, ...changes }));
}

test("a sound sensor of an online van has no problem", () => {
  expect(verdict(fleetOf(), END_MS)).toMatchObject({ level: "fine", headline: sentences("Carbon monoxide is low. The sensor reports."), troubles: [] });
});

test("a flag is shown in words, with the sensor's name", () => {
  const fleet = fleetOf({
    quality: 3,
    reasons: ["temperature_outside_training", "op1_outside_training", "clock_unsynchronised"],
  });
  const text =
    "Temperature and OP1 are outside the range the model was trained on. The gateway’s clock is not synchronised";
  expect(verdict(fleet, END_MS)).toMatchObject({
    level: "look",
    headline: sentences("Carbon monoxide reads low. 1 of 1 sensor is uncertain."),
    troubles: [{ who: "5A2D", sensor: "van-1/5A2D", level: "look", text }],
  });
});

test("a silent channel in the health is a problem of its sensor", () => {
  const fleet = fleetOf();
  fleet.setHealth(
    "van-1",
    decodeHealth(healthOf({ sensors: { "5A2D": { silent: ["op2"], stuck: ["op1"] } } }))!,
    END_MS,
  );
  expect(verdict(fleet, END_MS).troubles.map(({ text }) => text)).toEqual(["OP2 is silent. OP1 is stuck at one value"]);
});

test("an offline van is the headline, whatever else there is", () => {
  const fleet = fleetOf({ quality: 4, reasons: ["value_not_finite"] });
  fleet.setStatus("van-1", "offline");
  expect(verdict(fleet, END_MS).headline.join(" ")).toBe("van-1 has been offline since about 10:30.");
  fleet.setStatus("van-1", "online");
  fleet.setStatus("van-1", "offline", END_MS + 300_000);
  expect(verdict(fleet, END_MS + WINDOW_MS).headline.join(" ")).toBe("van-1 has been offline since 10:35.");
});

test("a van that never reported has no time since when", () => {
  const fleet = new Fleet();
  fleet.setStatus("van-1", "offline");
  expect(verdict(fleet, END_MS).headline.join(" ")).toBe("van-1 is offline, and has not reported yet.");
});

test("a van that is off does not hide the sensors of another", () => {
  const fleet = fleetOf();
  fleet.setStatus("van-2", "offline");
  fleet.addEstimate(window(0, { sensor: "B5FF", agent: "van-2", value: 120, low: 110, high: 130 }), null);
  const { headline, troubles } = verdict(fleet, END_MS);
  expect(headline.join(" ")).toBe("Carbon monoxide is low. The sensor reports. van-2 has been offline since about 10:30.");
  expect(troubles).toMatchObject([{ who: "van-2", level: "off" }]);
});

test("a sensor whose first window is open is not a problem", () => {
  const fleet = new Fleet();
  fleet.setHealth("van-1", decodeHealth(healthOf({ sensors: { "5A2D": { silent: [], stuck: [] } } }))!, END_MS);
  expect(verdict(fleet, END_MS)).toMatchObject({
    level: "fine",
    headline: sentences("Waiting for the first window."),
    troubles: [],
  });
});

test("a backlog, dropped estimates and an unsynchronised clock are problems of the van", () => {
  const fleet = fleetOf();
  fleet.setHealth(
    "van-1",
    decodeHealth(healthOf({ clock: "unsynchronised", outbox: { depth: 9, oldest_s: 4000, dropped: 2 } }))!,
    END_MS,
  );
  const { headline, troubles } = verdict(fleet, END_MS);
  expect(headline.join(" ")).toBe("Carbon monoxide is low. All sensors report, but the van needs attention.");
  expect(troubles[0]!.text).toBe(
    'Clock not synchronised: check NTP, or set clock = "trusted" on the gateway. Estimates have been waiting to be sent for more than 30 minutes. 2 estimates dropped because the journal reached its limit',
  );
});

describe("a sensor is stale when nothing new came for two windows", () => {
  const since = (fleet: Fleet, nowMs: number) => staleSinceMs(fleet, fleet.sensors.get("van-1/5A2D")!, nowMs);

  test("by the window's end, for a page just opened", () => {
    const fleet = fleetOf({}, null);
    expect(since(fleet, END_MS + 2 * WINDOW_MS)).toBeNull();
    expect(since(fleet, END_MS + 2 * WINDOW_MS + 1)).toBe(END_MS);
  });

  test("by arrival, for a replay of the past", () => {
    const nowMs = END_MS + 1e10;
    expect(since(fleetOf({}, nowMs), nowMs + WINDOW_MS)).toBeNull();
    expect(since(fleetOf({}, nowMs), nowMs + 3 * WINDOW_MS)).toBe(nowMs);
    const fleet = fleetOf({}, nowMs);
    expect(lastUpdateMs(fleet, fleet.sensors.get("van-1/5A2D")!, nowMs + 1)).toBe(nowMs);
  });
});

test("words", () => {
  expect([span(1), span(59), span(60), span(7199), span(7200), span(172_800), span(70_000_000)]).toEqual([
    "1 second",
    "59 seconds",
    "1 minute",
    "119 minutes",
    "2 hours",
    "2 days",
    "2 years",
  ]);
  expect([ago(0, 3000), ago(0, 60_000), ago(3_600_000, 0)]).toEqual([
    "just now",
    "1 minute ago",
    "60 minutes in the future",
  ]);
  expect([0.834, -0.004, -0.05, 0, 412.6, 3.2e9, null].map((value) => concentration(value))).toEqual([
    "0.83",
    "−0.0040",
    "−0.050",
    "0.00",
    "413",
    "3.20e9",
    "–",
  ]);
  expect([term(0.00318, 0.0042), term(2.5, 0.8), reading(0.00421, "op1"), reading(231.43, "op1")]).toEqual([
    "0.00318",
    "2.500",
    "0.004210",
    "231.4",
  ]);
  expect([ends(0.47, -0.43, 1.37), ends(0.83, 0.71, 0.95), ends(-0.2, -0.43, 0.04), ends(1, 1, 1)]).toEqual([
    ["0", "1.4"],
    ["0.71", "0.95"],
    ["−0.43", "0.04"],
    ["1.00", "1.00"],
  ]);
  expect(trueEnds(0.47, -0.43, 1.37)).toEqual(["−0.4", "1.4"]);
  const ranged = (value: number, low: number, high: number) => valueOf({ value, low, high });
  expect([ranged(0.47, -0.43, 1.37), ranged(0.834, 0.71, 0.95), ranged(120, 118, 122), ranged(0.8, 0.8, 0.8)]).toEqual(["0.5", "0.83", "120", "0.80"]);
  expect([0.9, 0.999, 1, 0, 0.0004].map(percent)).toEqual(["90 %", "99.9 %", "100 %", "0 %", "0.04 %"]);
  expect([-0.1, 0.002, 0.13, 0.996, 2.3].map(shareInWords)).toEqual(["0 %", "below 1 %", "13 %", "99.6 %", "230 %"]);
  expect(
    ["2023-10-05T00:00:00Z", "2023-10-05", "2023-99-99", "0.9810952271676012", "0.971", "T-W"].map(factInWords),
  ).toEqual(["5 Oct 2023", "5 Oct 2023", "2023-99-99", "0.981", "0.971", "T-W"]);
  expect(reasonsInWords(["constructor", "some_new_code", "temperature_history_incomplete", "calibration_old"])).toEqual([
    "constructor",
    "some new code",
    "Warming up: the temperature history is incomplete",
    "The calibration is too old: this sensor is due for a new one",
  ]);
  expect([reading(-0.42, "warming_4h"), ...reasonsInWords(["warming_4h_outside_training"])]).toEqual([
    "−0.42 °C",
    "Warming (4 h) is outside the range the model was trained on",
  ]);
});

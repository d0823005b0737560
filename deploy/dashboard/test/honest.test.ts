import { expect, test } from "vitest";
import { csvOf } from "../src/csv";
import { Fleet } from "../src/fleet";
import { verdict } from "../src/verdict";
import { decodeCard, decodeHealth, type Estimate } from "../src/wire";
import { bytesOf, START_MS, window, WINDOW_MS, sentences } from "./sample";

const WARMING = { quality: 3, reasons: ["temperature_history_incomplete"], model: "m" } as const;

function fleetOf(...windows: Estimate[]): Fleet {
  const fleet = new Fleet();
  fleet.setStatus("van-1", "online");
  for (const each of windows) fleet.addEstimate(each, each.endMs);
  return fleet;
}

const warm = (index: number) => window(index, { ...WARMING, reasons: [...WARMING.reasons] });
const endOf = (index: number) => START_MS + (index + 1) * WINDOW_MS;

test("a sensor that warms up is no trouble, and the time when it is accurate is given", () => {
  const { headline, troubles, level } = verdict(fleetOf(warm(0), warm(1)), endOf(1));
  expect(headline.join(" ")).toBe("Carbon monoxide is low. Warming up: full accuracy from about 13:15.");
  expect([troubles, level]).toEqual([[], "fine"]);
});

test("the time counts from the first window that lacks its history, not from an older run", () => {
  const fleet = fleetOf(warm(0), window(20, { model: "m" }), warm(90));
  expect(verdict(fleet, endOf(90)).headline.join(" ")).toContain("full accuracy from about 11:45");
});

test("a pause of more than an hour is a new start", () => {
  const fleet = fleetOf(...[0, 1, 40, 41].map(warm));
  expect(verdict(fleet, endOf(41)).headline.join(" ")).toContain("full accuracy from about 23:15");
});

test("warming up that does not end is uncertain", () => {
  const fleet = fleetOf(...Array.from({ length: 20 }, (_, i) => warm(i)));
  expect(verdict(fleet, endOf(19)).headline.join(" ")).toBe("Carbon monoxide reads low. 1 of 1 sensor is uncertain.");
});

test("before the first window the page says when it is due", () => {
  const started = (at: string, uptime_s: number, now: string) => {
    const fleet = new Fleet();
    fleet.setStatus("van-1", "online");
    const health = { v: 1, at, uptime_s, sensors: { "5A2D": { silent: [], stuck: [] } } };
    fleet.setHealth("van-1", decodeHealth(bytesOf(JSON.stringify(health)))!, null);
    return verdict(fleet, Date.parse(now)).headline.join(" ");
  };
  expect(started("2024-02-01T10:16:00Z", 30, "2024-02-01T10:17:00Z")).toBe("Starting: first values at 10:31.");
  expect(started("2024-02-01T10:20:00Z", 30, "2024-02-01T10:21:00Z")).toBe("Starting: first values at 10:46.");
  expect(started("2024-02-01T10:20:00Z", 30, "2024-02-01T11:00:00Z")).toBe("Waiting for the first window.");
});

function cardOf(r2_test: number) {
  return decodeCard(bytesOf(JSON.stringify({ v: 1, sensor: "5A2D", id: "m", provenance: { r2_test } })), "5A2D");
}

test("a sensor with a poor model is uncertain, however sound its readings", () => {
  const fleet = fleetOf(window(0));
  fleet.setCard("van-1", "5A2D", cardOf(0.93));
  expect(verdict(fleet, endOf(0)).troubles).toEqual([]);
  fleet.setCard("van-1", "5A2D", cardOf(0.31));
  expect(verdict(fleet, endOf(0))).toMatchObject({
    headline: sentences("Carbon monoxide reads low. 1 of 1 sensor is uncertain."),
    troubles: [{ who: "5A2D", level: "look", text: "The model is poor: R² was 0.31 in its test" }],
  });
});

test("of three sensors the one with a much wider interval is uncertain", () => {
  const narrow = ["A", "B"].map((sensor) => window(0, { sensor }));
  const troubles = (half: number) => verdict(fleetOf(...narrow, window(0, { sensor: "C", low: 0.8 - half, high: 0.8 + half })), endOf(0)).troubles;
  expect(troubles(0.39)).toEqual([]);
  expect(troubles(0.41)).toMatchObject([
    { who: "C", level: "look", text: "The interval is more than 4 times as wide as those of the other sensors" },
  ]);
});

test("an interval wider than the value is uncertain", () => {
  const { troubles } = verdict(fleetOf(window(0, { value: 0.5, low: -0.4, high: 1.4 })), endOf(0));
  expect(troubles[0]!.text).toBe("The interval is wide: ± 0.90 ppm, more than the usual value");
});

test("of three sensors the one that disagrees with both for four windows is named; of two, both are", () => {
  const row = (sensor: string, value: number, windows: number) =>
    Array.from({ length: windows }, (_, i) => window(i, { sensor, value, low: value - 0.1, high: value + 0.1 }));
  const named = (...rows: Estimate[][]) => verdict(fleetOf(...rows.flat()), endOf(3)).troubles.map(({ who, text }) => `${who}: ${text}`);
  const [a, b, c] = [row("A", 0.5, 4), row("B", 0.6, 4), row("C", 1.5, 4)];
  expect(named(a, b, c)).toEqual(["C: Disagrees with A and B for the last hour or longer"]);
  expect(named(a, c).length).toBe(2);
  expect(named(a, b)).toEqual([]);
  expect(named(a.slice(1), b.slice(1), c.slice(1))).toEqual([]);
});

test("CSV has the columns and cells of edge-agent export, and no formula", () => {
  const minutes = { op1: 15, op2: 14, temperature: 9 };
  const position = { lat: 52, lon: 13.4, spreadM: 0, speedKmh: null };
  const full = { low: -0.43, reasons: ["a_b", "c"], inputs: { op1: 206, temperature: 0.00001, warming_1h: -0.5 }, minutes, weights: { op1: 1, op2: 1, bias: 0 }, position, site: "Dock" };
  const rows = csvOf([window(0, { ...full, quality: 3 }), window(1, { sensor: '=1+"x",', value: null, unitAt: { temperature_c: 25 }, minutes })]);
  expect(rows.split("\n")).toEqual([
    "sensor,start_utc,end_utc,value,low,high,level,unit,unit_at,quality,reasons,op1,op2,temperature,other_inputs,minutes,expected,site,lat,lon,spread_m,speed_kmh,model,clock,agent,seq,revision",
    "5A2D,2024-02-01 10:15:00,2024-02-01 10:30:00,0.8,-0.43,0.9,0.9,ppm,,3,a_b c,206.0,,1e-05,warming_1h=-0.5,14,15,Dock,52.0,13.4,0.0,,,synchronised,van-1,1000,0",
    `"'=1+""x"",",2024-02-01 10:30:00,2024-02-01 10:45:00,,0.7,0.9,0.9,ppm,temperature_c=25.0,1,,,,,,9,15,,,,,,,synchronised,van-1,1001,0`,
    "",
  ]);
});

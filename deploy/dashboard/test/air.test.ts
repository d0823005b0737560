import { describe, expect, test } from "vitest";
import { airOf, runningMean } from "../src/air";
import { Fleet } from "../src/fleet";
import { limitsChoice, limitsOf, mgPer, WHO } from "../src/limits";
import { verdict } from "../src/verdict";
import type { Estimate } from "../src/wire";
import { window, sentences } from "./sample";

const day = (value: number, changes: Partial<Estimate> = {}, windows = 96) =>
  Array.from({ length: windows }, (_, i) => window(i, { value, low: value - 0.1, high: value + 0.1, ...changes }));

const levelOf = (windows: Estimate[], choice = "who") => airOf(windows, limitsOf(choice))?.level ?? null;

test("a day of steady air is judged by the strictest average", () => {
  expect([0.5, 1.8, 4, 12, 120].map((value) => levelOf(day(value)))).toEqual([0, 1, 2, 3, 3]);
  expect(airOf(day(4), WHO)!.why).toBe("24\u00a0h average 4.00 ppm, above the WHO limit of 3.5 ppm");
  expect(airOf(day(0.5), WHO)!.why).toBe("24\u00a0h average 0.50 ppm, 14\u00a0% of the WHO limit");
});

describe("one window counts at once", () => {
  const peak = (value: number, quality: 1 | 4 = 1) => [...day(0.5), window(96, { value, low: value - 2, high: value + 2, quality })];

  test.each(["who", "us", "in", "eu", "who,us,in,eu"])("120 ppm is very high by the limits of %s", (choice) => {
    expect(levelOf(peak(120), choice)).toBe(3);
    expect(levelOf(peak(120, 4), choice)).toBe(3);
    expect(levelOf([window(0, { value: 120 })], choice)).toBe(3);
  });

  test("12 ppm is high, and 5 ppm is only above the number of a 24 h limit", () => {
    expect([levelOf(peak(12)), levelOf(peak(12), "us"), levelOf(peak(12), "eu"), levelOf(peak(5))]).toEqual([2, 2, 2, 1]);
    expect(airOf(peak(120), WHO)!.why).toMatch(/^15\u00a0min average 120 ppm, above the WHO limit of 87 ppm$/);
  });
});

test("an average needs three quarters of its time, and no value that failed", () => {
  const hour = (values: number) => [...day(1, {}, values), ...Array.from({ length: 4 - values }, (_, i) => window(values + i, { value: null }))];
  expect([4, 3, 2].map((values) => runningMean(hour(values), 1, mgPer("ppm")!))).toEqual([1, 1, null]);
  const failed = [...day(1, {}, 3), window(3, { value: 99, quality: 4 })];
  expect(runningMean(failed, 1, mgPer("ppm")!)).toBe(1);
});

test("units of carbon monoxide are converted, and nothing else has a level", () => {
  const share = (value: number, unit: string) => airOf(day(value, { unit }), WHO)!.averages[0]!;
  for (const [value, unit] of [[4, "mg/m³"], [4000, "µg/m3"], [3.4938, "ppm"], [3493.8, "ppb"]] as const) {
    const { mean, amount } = share(value, unit);
    expect(mean! / amount).toBeCloseTo(1, 4);
  }
  expect([levelOf(day(9, { gas: "NO2" })), levelOf(day(9, { unit: "V" })), levelOf([])]).toEqual([null, null, null]);
});

test("the address chooses the limits", () => {
  const choice = (query: string) => limitsChoice(new URL(`http://van/${query}`));
  expect(["", "?limits=eu", "?limits=us,WHO,us", "?limits=moon", "?limits="].map(choice)).toEqual(["who", "eu", "who,us", "who", "who"]);
});

test("the headline names where the air is bad, and says when the data are not sure", () => {
  const fleet = new Fleet();
  for (const [sensor, value] of [["A", 0.5], ["B", 120]] as const)
    for (const each of day(value, { sensor }, 2)) fleet.addEstimate(each, each.endMs);
  const nowMs = window(1).endMs;
  expect(verdict(fleet, nowMs)).toMatchObject({
    headline: sentences("Carbon monoxide is very high at B. All 2 sensors report."),
    troubles: [{ who: "B", air: 3 }],
  });
  fleet.addEstimate(window(2, { sensor: "B", value: 120, quality: 4, reasons: ["op1_outside_training"] }), nowMs);
  expect(verdict(fleet, nowMs).headline.join(" ")).toBe(
    "Carbon monoxide reads very high at B, but the data are uncertain. 1 of 2 sensors needs attention.",
  );
});

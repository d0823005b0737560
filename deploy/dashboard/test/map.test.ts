import { expect, test } from "vitest";
import { fit, scaleBar } from "../src/map/project";
import { decodeEstimate } from "../src/wire";
import { bytesOf, estimateJson } from "./sample";

const HOME = { lat: 52.5, lon: 13.4 };

test("north is up, east is right, and a metre is as long both ways", () => {
  const east = { lat: 52.5, lon: 13.5 };
  const north = { lat: 52.5 + 0.1 * Math.cos((52.5 * Math.PI) / 180), lon: 13.4 };
  const on = fit([HOME, east, north], 600, 600, 50);
  expect(on.x(east)).toBeGreaterThan(on.x(HOME));
  expect(on.y(north)).toBeLessThan(on.y(HOME));
  expect(on.x(east) - on.x(HOME)).toBeCloseTo(on.y(HOME) - on.y(north), 6);
  expect(on.x(HOME)).toBeCloseTo(50);
});

test("a van that stands still is in the middle, with 400 m around it", () => {
  const on = fit([HOME, HOME], 500, 300, 50);
  expect([on.x(HOME), on.y(HOME)]).toEqual([250, 150]);
  expect(on.scale).toBe(0.5);
});

test("a track across the date line is short", () => {
  const on = fit([{ lat: 0, lon: 179.99 }, { lat: 0, lon: -179.99 }], 600, 600, 50);
  expect(on.x({ lat: 0, lon: -179.99 }) - on.x({ lat: 0, lon: 179.99 })).toBeCloseTo(500);
});

test.each([
  [0.5, 140, 200],
  [0.001, 140, 100_000],
  [1, 140, 100],
])("the bar of a map with %d units a metre is at most %d long: %d m", (scale, most, metres) => {
  expect(scaleBar({ scale, x: () => 0, y: () => 0 }, most)).toEqual({ metres, length: metres * scale });
});

test.each([
  [{ lat: 52.5, lon: 13.4, spread_m: 3 }, { lat: 52.5, lon: 13.4 }],
  [{ lat: 91, lon: 13.4 }, null],
  [{ lat: "52", lon: 13.4 }, null],
  [null, null],
  [[1, 2], null],
])("the position %j is read as %j", (position, read) => {
  const estimate = decodeEstimate(bytesOf(JSON.stringify(estimateJson({ position, site: "Harbour" }))), "van-1", "5A2D")!;
  expect([estimate.position, estimate.site]).toEqual([read, "Harbour"]);
});

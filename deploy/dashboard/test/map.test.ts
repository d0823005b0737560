import { expect, test } from "vitest";
import { fit, scaleBar } from "../src/map/project";
import { tilesFor } from "../src/map/tiles";
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
  expect(scaleBar({ ...fit([], 1, 1, 0), scale }, most)).toEqual({ metres, length: metres * scale });
});

test("tiles cover the map, in the order of the server, and lie where their corners are", () => {
  const on = fit([HOME, { lat: 52.51, lon: 13.42 }], 640, 448, 48);
  const tiles = tilesFor("https://tiles.example.org/{z}/{x}/{y}.png", on, 640, 448);
  expect(Math.min(...tiles.map(({ x }) => x))).toBeLessThanOrEqual(0);
  expect(Math.max(...tiles.map(({ x, width }) => x + width))).toBeGreaterThanOrEqual(640);
  expect(Math.min(...tiles.map(({ y }) => y))).toBeLessThanOrEqual(0);
  expect(Math.max(...tiles.map(({ y, height }) => y + height))).toBeGreaterThanOrEqual(448);
  expect(tiles.every(({ width, height }) => width >= 255 && width < 513 && Math.abs(width - height) < 1)).toBe(true);
  // 52.5° N, 13.4° E is in tile 8801, 5374 of zoom 14, by the formula of Web Mercator.
  const home = tiles.find(({ x, y, width, height }) => x <= on.x(HOME) && on.x(HOME) < x + width && y <= on.y(HOME) && on.y(HOME) < y + height)!;
  expect(home.href).toBe("https://tiles.example.org/14/8801/5374.png");
});

test("tiles continue across the date line", () => {
  const on = fit([{ lat: 0, lon: 179.999 }, { lat: 0, lon: -179.999 }], 640, 448, 48);
  const columns = tilesFor("{x}", on, 640, 448).map(({ href }) => Number(href));
  expect(columns).toContain(0);
  expect(new Set(columns).size).toBeLessThan(6);
});

test.each([
  [{ lat: 52.5, lon: 13.4, spread_m: 3 }, { lat: 52.5, lon: 13.4, spreadM: 3, speedKmh: null }],
  [{ lat: 91, lon: 13.4 }, null],
  [{ lat: "52", lon: 13.4 }, null],
  [null, null],
  [[1, 2], null],
])("the position %j is read as %j", (position, read) => {
  const estimate = decodeEstimate(bytesOf(JSON.stringify(estimateJson({ position, site: "Harbour" }))), "van-1", "5A2D")!;
  expect([estimate.position, estimate.site]).toEqual([read, "Harbour"]);
});

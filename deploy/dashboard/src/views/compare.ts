/** The choice of other sensors for the chart: a list to add one, and a button for each to remove it. */

import { DASHES, MOST_OTHERS } from "../charts/others";
import { h, refill, show, svg } from "../dom";
import { sorted, type Fleet, type Sensor } from "../fleet";

export interface Comparison {
  root: HTMLElement;
  chosen(): Sensor[];
  update(): void;
}

export function comparison(fleet: Fleet, sensor: Sensor, onChange: () => void): Comparison {
  let ids: string[] = [];
  const chosen = () => ids.flatMap((id) => fleet.sensors.get(id) ?? []);
  const change = (next: string[]) => {
    ids = next;
    update();
    onChange();
  };
  const list = h("select", { "aria-label": "Compare with another sensor", onchange: () => change([...ids, list.value]) });
  const buttons = h("span", { class: "others" });
  const update = () => {
    const free = alike(fleet, sensor).filter(({ id }) => !ids.includes(id));
    refill(list, JSON.stringify(free.map(({ id }) => id)), () => [
      h("option", { value: "", selected: true }, "Compare with…"),
      ...free.map((other) => h("option", { value: other.id }, nameBeside(other, sensor))),
    ]);
    show(list, free.length > 0 && ids.length < MOST_OTHERS);
    refill(buttons, JSON.stringify(ids), () => [
      ids.length > 0 ? h("span", { class: "own" }, swatch("var(--accent)", ""), sensor.name) : null,
      ...chosen().map((other, index) => removal(nameBeside(other, sensor), index, () => change(ids.filter((id) => id !== other.id)))),
    ]);
  };
  return { root: h("span", { class: "comparison" }, buttons, list), chosen, update };
}

/** A line of the chart's legend, which removes its sensor. */
function removal(name: string, index: number, onclick: () => void): HTMLElement {
  const line = swatch(`var(--other-${index})`, DASHES[index]!.join(" "));
  return h("button", { type: "button", class: "other", onclick, "aria-label": `Remove ${name} from the chart` }, line, `${name} ×`);
}

function swatch(stroke: string, dashes: string): SVGElement {
  const line = svg("line", { x1: "0", y1: "3", x2: "26", y2: "3", stroke, "stroke-width": "2.5", "stroke-dasharray": dashes });
  return svg("svg", { viewBox: "0 0 26 6", "aria-hidden": "true" }, line);
}

/** The name of another sensor, with its van if that is another one. */
export function nameBeside(other: Sensor, sensor: Sensor): string {
  return other.agent === sensor.agent ? other.name : `${other.name} (${other.agent})`;
}

/** Sensors that measure the same gas in the same unit, other than this one. */
function alike({ sensors }: Fleet, { id, newest }: Sensor): Sensor[] {
  return sorted(sensors).filter(
    (other) => other.id !== id && newest && other.newest?.unit === newest.unit && other.newest.gas === newest.gas,
  );
}

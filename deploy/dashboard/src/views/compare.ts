/** The choice of other sensors for the chart: a list to add one, and a button for each to remove it. */

import { MOST_OTHERS } from "../charts/others";
import { h, refill, show } from "../dom";
import { sorted, type Fleet, type Sensor } from "../fleet";

export interface Comparison {
  root: HTMLElement;
  chosen(): Sensor[];
  update(): void;
}

export function comparison(fleet: Fleet, sensor: Sensor, onChange: () => void): Comparison {
  let ids: string[] = [];
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
      ...free.map(({ id }) => h("option", { value: id }, id)),
    ]);
    show(list, free.length > 0 && ids.length < MOST_OTHERS);
    refill(buttons, JSON.stringify(ids), () => ids.map((id, index) => removal(id, index, () => change(ids.filter((each) => each !== id)))));
  };
  return { root: h("span", { class: "comparison" }, buttons, list), chosen: () => ids.flatMap((id) => fleet.sensors.get(id) ?? []), update };
}

/** A line of the chart's legend, which removes its sensor. */
function removal(id: string, index: number, onclick: () => void): HTMLElement {
  return h("button", { type: "button", class: `other other-${index}`, onclick, "aria-label": `Remove ${id} from the chart` }, `${id} ×`);
}

/** Sensors that measure the same gas in the same unit, other than this one. */
function alike({ sensors }: Fleet, { id, newest }: Sensor): Sensor[] {
  return sorted(sensors).filter(
    (other) => other.id !== id && newest && other.newest?.unit === newest.unit && other.newest.gas === newest.gas,
  );
}

/** One sensor in full: the value and how it is computed, its day, its weights, its model. */

import { h, refill, say, show } from "../dom";
import type { Fleet, Sensor } from "../fleet";
import { worst } from "../level";
import { isReplay } from "../replay";
import { nameIn } from "../routes";
import { ago, clockTime, valueOf, when } from "../words";
import { limitsSection, sayAir } from "./air";
import { intervalInWords, stateInWord } from "./card";
import { daySection, type AskPast } from "./day";
import { inputsSection } from "./inputs";
import { sayState } from "./mark";
import { mapSection } from "./map";
import { modelSection } from "./model";
import { scoreSection } from "./score";
import { weightsSection } from "./weights";
import type { Section, View } from "./view";

export function sensorView(fleet: Fleet, id: string, askPast: AskPast): View {
  const heading = h("h1", { tabindex: "-1" }, nameIn(id));
  const absent = h("p", { class: "newest" }, "No data from this sensor yet.");
  const body = h("div", { class: "sections" });
  const root = h(
    "article",
    { class: "detail" },
    h("nav", { "aria-label": "Back" }, h("a", { class: "back", href: "#/" }, "All sensors")),
    heading,
    absent,
    body,
  );
  let sections: Section[] = [];
  return {
    root,
    heading,
    title: `${nameIn(id)} · RESPIRE`,
    update(moment) {
      const sensor = fleet.sensors.get(id) ?? null;
      show(absent, !sensor);
      refill(body, sensor, () => {
        sections = sensor ? sectionsFor(fleet, sensor, askPast) : [];
        return sections.map((section) => section.root);
      });
      for (const section of sections) section.update(moment);
    },
  };
}

function sectionsFor(fleet: Fleet, sensor: Sensor, askPast: AskPast): Section[] {
  return [
    figure(fleet, sensor),
    daySection(fleet, sensor, askPast),
    mapSection(sensor),
    limitsSection(sensor),
    scoreSection(sensor),
    inputsSection(sensor),
    weightsSection(sensor),
    modelSection(sensor),
  ];
}

function figure(fleet: Fleet, sensor: Sensor): Section {
  const state = h("span", { class: "state" });
  const value = h("span", { class: "value" });
  const unit = h("span", { class: "unit" });
  const interval = h("p", { class: "interval" });
  const air = h("p", { class: "air" });
  const age = h("p", { class: "newest" });
  const why = h("ul", { class: "troubles" });
  const root = h(
    "section",
    { class: "now", "aria-label": "Newest value" },
    h("div", { "aria-live": "polite" }, h("p", { class: "figure" }, value, unit), interval, air, state, why),
    age,
  );
  return {
    root,
    update({ nowMs, link, verdict }) {
      const { newest } = sensor;
      const problems = verdict.problems.get(sensor) ?? [];
      const level = worst(problems);
      const texts = problems.map(({ text }) => text);
      const word = stateInWord(fleet, sensor, level, nowMs);
      sayState(root, state, level, word, link);
      say(value, newest ? valueOf(newest) : "–");
      say(unit, newest?.value == null ? "" : `${newest.unit} ${newest.gas}`);
      sayAir(air, verdict.air.get(sensor) ?? null, word, link);
      say(interval, newest?.value == null ? "No value in the newest window" : intervalInWords(newest));
      refill(why, JSON.stringify(texts), () => texts.map((text) => h("li", {}, `${text}.`)));
      show(why, texts.length > 0);
      say(age, newest ? `${isReplay(fleet, sensor) ? "Replay. " : ""}${windowInWords(newest.startMs, newest.endMs, nowMs)}` : "");
    },
  };
}

function windowInWords(startMs: number, endMs: number, nowMs: number): string {
  return `Measured from ${when(startMs, nowMs)} to ${clockTime(endMs)}, ${ago(endMs, nowMs)}.`;
}

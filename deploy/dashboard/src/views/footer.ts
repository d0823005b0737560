/** What holds for the whole page: what it shows, the choice of limits, units, time zone. */

import { h } from "../dom";
import { CHOICES, choiceInWords, limitsChoice } from "../limits";
import { zoneInWords } from "../words";

export function footer(address: string, onChoice: (choice: string) => void): HTMLElement[] {
  return [
    h("p", { class: "choice" }, h("label", {}, "Levels of carbon monoxide use the limits of ", choice(onChoice))),
    h("p", {}, "mg/m³ and µg/m³ of CO are at 25 °C and 1013.25 hPa. An average needs 75 % of its values."),
    h("p", {}, "This page is not a safety device. Use a certified alarm to protect people."),
    h("p", {}, "Read live from ", h("code", {}, address), `. Times are in this device’s time zone, ${zoneInWords()}.`),
  ];
}

/** The choice is kept in the address, so that a link shows the same levels. */
function choice(onChoice: (choice: string) => void): HTMLSelectElement {
  const chosen = limitsChoice(new URL(location.href));
  const options = [...new Set([...CHOICES, chosen])].map((each) =>
    h("option", { value: each, selected: each === chosen }, choiceInWords(each)),
  );
  const select = h("select", { name: "limits" }, ...options);
  select.addEventListener("change", () => {
    const page = new URL(location.href);
    page.searchParams.set("limits", select.value);
    history.replaceState(null, "", page);
    onChoice(select.value);
  });
  return select;
}

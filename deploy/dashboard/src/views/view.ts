/** Views and their sections are built once. `update` changes only what differs. */

import type { Link } from "../broker";
import type { Verdict } from "../verdict";

export interface Moment {
  /** The time of the vans' clock. */
  nowMs: number;
  link: Link;
  verdict: Verdict;
}

export interface Section {
  root: HTMLElement;
  update(moment: Moment): void;
}

export interface View extends Section {
  heading: HTMLElement;
  title: string;
}

/** One section per item. An item keeps its section as long as it is listed. */
export function sectionsOf<T extends object>(root: HTMLElement, items: (moment: Moment) => T[], make: (item: T) => Section): Section {
  const made = new WeakMap<T, Section>();
  const sectionOf = (item: T): Section => {
    const section = made.get(item) ?? make(item);
    made.set(item, section);
    return section;
  };
  return {
    root,
    update(moment) {
      const sections = items(moment).map(sectionOf);
      const { children } = root;
      const same = children.length === sections.length && sections.every((each, i) => children[i] === each.root);
      if (!same) root.replaceChildren(...sections.map((section) => section.root));
      for (const section of sections) section.update(moment);
    },
  };
}

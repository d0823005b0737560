/** Views and their sections are built once and then told the moment; they change only what has changed. */

import type { Link } from "../broker";
import type { Verdict } from "../verdict";

export interface Moment {
  /** By the vans' clock. */
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

/** A section for each item there is; items come and go, and each keeps its own while it stays. */
export function sectionsOf<T extends object>(root: HTMLElement, items: () => T[], make: (item: T) => Section): Section {
  const made = new WeakMap<T, Section>();
  const sectionOf = (item: T): Section => {
    const section = made.get(item) ?? make(item);
    made.set(item, section);
    return section;
  };
  return {
    root,
    update(moment) {
      const sections = items().map(sectionOf);
      const { children } = root;
      const same = children.length === sections.length && sections.every((each, i) => children[i] === each.root);
      if (!same) root.replaceChildren(...sections.map((section) => section.root));
      for (const section of sections) section.update(moment);
    },
  };
}

/**
 * WebKitGTK gives "C" as the language of a system without one, such as a small computer with a screen. That is no
 * language tag, and uPlot would end the page when it is loaded. So this file is imported first.
 */

try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", { value: "en-GB" });
}

"""One CO sensor over four seasons: calibrated in spring, then used and adapted in the others.

python uci_seasons.py FOLDER, where FOLDER has uci-airquality-co2ch-{spring2004,…}.csv.gz
"""

import sys
from pathlib import Path

from model_export import Recipe, adapt, evaluate, fit, load_recording

folder, seasons = Path(sys.argv[1]), ("spring2004", "summer2004", "autumn2004", "winter2005")
recordings = {
    season: load_recording(folder / f"uci-airquality-co2ch-{season}.csv.gz", sensor="uci")
    for season in seasons
}
spring = fit(recordings["spring2004"], unit="mg/m3", window="1h", recipe=Recipe(trials=20))
print(f"spring2004: R² {spring.figures['r2_test']:.2f} on its last 20 %. {spring.verdict}")
for season in seasons[1:]:
    found, moved = evaluate(spring.bundle, recordings[season]).score, adapt(spring.bundle, recordings[season])
    print(
        f"{season}: R² {found.r2:.2f}, bias {found.bias:+.2f} mg/m3, coverage {found.coverage:.0%}; "
        f"adapted R² {moved.after.r2:.2f}, coverage {moved.after.coverage:.0%}"
    )

/** Results on the disk: JSON, a report, plots. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { loadRasteriser } from './charts/png.ts';
import { ROOT } from './peers.ts';
import { plotsOf } from './plots.ts';
import type { Plot } from './plots.ts';
import { reportOf } from './report.ts';
import type { RunResult } from './report.ts';

export const RESULTS: string = path.join(ROOT, 'bench', 'results');
const PLOTS: string = path.join(ROOT, 'bench', 'plots');

/** Writes bench/results/NAME.json and NAME.md. */
export function saveEngine(run: RunResult, name: string): void {
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(path.join(RESULTS, `${name}.json`), `${JSON.stringify(run, null, 2)}\n`);
  writeFileSync(path.join(RESULTS, `${name}.md`), reportOf(run));
}

/** Writes the plots of a run to bench/plots/NAME-*.svg, and as PNG; answers whether PNGs could be made. */
export function savePlotsOf(run: RunResult, name: string): Promise<boolean> {
  return savePlots(plotsOf(run).map((plot) => ({ ...plot, name: `${name}-${plot.name}` })));
}

/** Writes bench/plots/*.svg and, where the rasteriser is installed, *.png. */
export async function savePlots(plots: readonly Plot[]): Promise<boolean> {
  const rasterise = await loadRasteriser();
  mkdirSync(PLOTS, { recursive: true });
  for (const { name, svg } of plots) {
    writeFileSync(path.join(PLOTS, `${name}.svg`), svg);
    if (rasterise !== null) writeFileSync(path.join(PLOTS, `${name}.png`), rasterise(svg));
  }
  return rasterise !== null;
}

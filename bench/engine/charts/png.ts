/** SVG to PNG by resvg (WebAssembly), with the DejaVu fonts, both from bench/peers. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { ROOT } from '../peers.ts';

interface Rendered {
  asPng(): Uint8Array;
}
interface ResvgModule {
  initWasm(code: Uint8Array): Promise<void>;
  readonly Resvg: new (svg: string, options: Record<string, unknown>) => { render(): Rendered };
}

/** Twice the SVG's size: sharp on dense screens. */
const ZOOM = 2;

export type Rasterise = (svg: string) => Uint8Array;

/** Null where `npm run bench:peers` has not installed it. Called once: the code is initialised by it. */
export async function loadRasteriser(): Promise<Rasterise | null> {
  const requirePeer = createRequire(path.join(ROOT, 'bench', 'peers', 'package.json'));
  let fonts: Uint8Array[];
  let code: Uint8Array;
  let resvg: ResvgModule;
  try {
    const folder = path.dirname(requirePeer.resolve('dejavu-fonts-ttf/package.json'));
    fonts = ['DejaVuSans.ttf', 'DejaVuSans-Bold.ttf'].map((name) =>
      readFileSync(path.join(folder, 'ttf', name)),
    );
    code = readFileSync(requirePeer.resolve('@resvg/resvg-wasm/index_bg.wasm'));
    resvg = requirePeer('@resvg/resvg-wasm') as ResvgModule;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
  await resvg.initWasm(code);
  return (svg) =>
    new resvg.Resvg(svg, {
      fitTo: { mode: 'zoom', value: ZOOM },
      font: { fontBuffers: fonts, defaultFontFamily: 'DejaVu Sans', loadSystemFonts: false },
    })
      .render()
      .asPng();
}

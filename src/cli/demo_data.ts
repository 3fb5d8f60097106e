/**
 * The demo's data set as cells: a week of earthquakes (data/README.md gives source and licence). Pure: from the JSON
 * text to operations.
 *
 * Table `quakes`, three kinds of row, all in one key space:
 *
 *     9q5s                                  an area (geohash of 4 characters, about 39 × 20 km): its latest quakes
 *     9q5s-8482033226159-ci37868143         one quake: area, time counted down, the catalogue's id
 *     ~source                               the set itself: title, address, licence; written last
 *
 * The area comes first so that neighbours lie together: a prefix of 4 characters is an area, a shorter one a larger
 * area, and quakes that happen one after the other at different places do not all write to one end of the table. The
 * time is counted down (9999999999999 minus milliseconds) so that the newest quake of an area is met first. The id
 * keeps apart what happened at once.
 */
import type { CellInput, FamilySpec, Operation } from '../model/index.ts';
import { geohash } from './geohash.ts';

/** The demo's table. */
export const DEMO_TABLE = 'quakes';
/** Row that says where the set is from; it is written last, so its presence means that all is there. */
export const SOURCE_ROW = '~source';
/** Versions of an area's columns, hence latest quakes that an area's row remembers. */
const EVENT_VERSIONS = 5;
/** Seconds that what the feed said stays: the feed covers a week. */
const FEED_TTL_SECONDS = 604_800;
const AREA_LENGTH = 4;
const TIME_MAX = 9_999_999_999_999;

/** `event`: what happened, kept for good. `feed`: what the feed said of it, gone a week after loading. */
export const DEMO_FAMILIES: readonly FamilySpec[] = [
  { name: 'event', VERSIONS: EVENT_VERSIONS },
  { name: 'feed', VERSIONS: 1, TTL: FEED_TTL_SECONDS },
];

/** Properties that go to `event`, stamped with the time of the quake. */
const HAPPENED = ['mag', 'magType', 'place', 'type'] as const;
/** Properties that go to `event`, stamped with the time the record was last updated. */
const REVISED = ['status', 'net', 'nst', 'gap', 'rms', 'dmin'] as const;
/** Properties that go to `feed`, stamped by the store when they are loaded. */
const SAID = ['sig', 'cdi', 'mmi', 'alert', 'tsunami', 'sources', 'url'] as const;

interface Quake {
  readonly id: string;
  readonly timeMs: number;
  readonly updatedMs: number;
  readonly longitude: number;
  readonly latitude: number;
  readonly depthKm: number;
  readonly properties: Readonly<Record<string, unknown>>;
}

export interface DemoSet {
  readonly quakes: readonly Quake[];
  readonly title: string;
  readonly url: string;
  readonly generatedMs: number;
}

/** Reads the GeoJSON text of the feed; throws TypeError naming the first quake that is not as expected. */
export function parseQuakes(text: string): DemoSet {
  const set = record(JSON.parse(text), 'the set');
  const metadata = record(set['metadata'], 'metadata');
  const features = set['features'];
  if (!Array.isArray(features)) throw new TypeError('features is no array');
  return {
    quakes: features.map((feature: unknown, index) => parseQuake(feature, index)),
    title: textOf(metadata, 'title', 'metadata'),
    url: textOf(metadata, 'url', 'metadata'),
    generatedMs: numberOf(metadata, 'generated', 'metadata'),
  };
}

function parseQuake(feature: unknown, index: number): Quake {
  const where = `quake ${index}`;
  const quake = record(feature, where);
  const properties = record(quake['properties'], where);
  const coordinates = record(quake['geometry'], where)['coordinates'];
  const place: unknown[] = Array.isArray(coordinates) ? coordinates : [];
  return {
    id: textOf(quake, 'id', where),
    timeMs: numberOf(properties, 'time', where),
    updatedMs: numberOf(properties, 'updated', where),
    longitude: asNumber(place[0], 'longitude', where),
    latitude: asNumber(place[1], 'latitude', where),
    depthKm: asNumber(place[2], 'depth', where),
    properties,
  };
}

/** The area of a place, which is also the row key of the area's own row. */
export function areaOf(quake: { readonly latitude: number; readonly longitude: number }): string {
  return geohash(quake.latitude, quake.longitude, AREA_LENGTH);
}

/** The row key of a quake. */
export function quakeRow(quake: Quake): string {
  const countdown = String(TIME_MAX - quake.timeMs).padStart(13, '0');
  return `${areaOf(quake)}-${countdown}-${quake.id}`;
}

/** The puts of one quake: its own row, and a version more in its area's row. */
export function quakeOperations(quake: Quake): Operation[] {
  const row = quakeRow(quake);
  return [
    { put: row, values: quakeCells(quake) },
    { put: areaOf(quake), values: areaCells(quake, row) },
  ];
}

/** The cells of row `~source`. */
export function sourceCells(set: DemoSet): CellInput[] {
  const entries = {
    title: set.title,
    url: set.url,
    licence: 'U.S. Public Domain (USGS); by way of vega-datasets 3.2.1',
    quakes: String(set.quakes.length),
  };
  return Object.entries(entries).map(([qualifier, value]) => ({
    family: 'event',
    qualifier,
    value,
    ts: set.generatedMs,
  }));
}

function quakeCells(quake: Quake): CellInput[] {
  const cells: CellInput[] = [
    { family: 'event', qualifier: 'lat', value: String(quake.latitude), ts: quake.timeMs },
    { family: 'event', qualifier: 'lon', value: String(quake.longitude), ts: quake.timeMs },
    { family: 'event', qualifier: 'depth', value: String(quake.depthKm), ts: quake.timeMs },
    // Two versions: the quake, and what its record had become when the feed was read.
    { family: 'event', qualifier: 'status', value: 'occurred', ts: quake.timeMs },
  ];
  addCells(cells, quake, 'event', HAPPENED, quake.timeMs);
  addCells(cells, quake, 'event', REVISED, quake.updatedMs);
  addCells(cells, quake, 'feed', SAID);
  const felt = quake.properties['felt'];
  // Reports of people who felt it are a counter: 8 bytes, ready for increment.
  if (typeof felt === 'number') {
    cells.push({ family: 'feed', qualifier: 'felt', value: BigInt(felt) });
  }
  return cells;
}

function addCells(
  cells: CellInput[],
  quake: Quake,
  family: string,
  names: readonly string[],
  ts?: number,
): void {
  for (const name of names) {
    const value = quake.properties[name];
    if (typeof value !== 'string' && typeof value !== 'number') continue; // null: not known.
    const cell = { family, qualifier: name, value: String(value) };
    cells.push(ts === undefined ? cell : { ...cell, ts });
  }
}

function areaCells(quake: Quake, row: string): CellInput[] {
  const cells: CellInput[] = [
    { family: 'event', qualifier: 'latest', value: row, ts: quake.timeMs },
  ];
  addCells(cells, quake, 'event', ['mag', 'place'], quake.timeMs);
  return cells;
}

function record(value: unknown, where: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) throw new TypeError(`${where} is no object`);
  return value as Record<string, unknown>;
}

function textOf(holder: Record<string, unknown>, name: string, where: string): string {
  const value = holder[name];
  if (typeof value !== 'string') throw new TypeError(`${name} of ${where} is no text`);
  return value;
}

function numberOf(holder: Record<string, unknown>, name: string, where: string): number {
  return asNumber(holder[name], name, where);
}

function asNumber(value: unknown, name: string, where: string): number {
  if (typeof value !== 'number') throw new TypeError(`${name} of ${where} is no number`);
  return value;
}

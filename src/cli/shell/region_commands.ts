/** The shell's commands on regions: split, merge_region, list_regions, normalize and the switches. */
import { toStringBinary } from '../../cell/index.ts';
import { IllegalArgumentException, UnknownRegionException } from '../../model/index.ts';
import type { RegionSwitch } from '../../model/index.ts';
import { bytesArgument, requireArgumentCount, textArgument, type ShellCommand } from './session.ts';

const TOOLS = 'tools';

const split: ShellCommand = {
  name: 'split',
  group: TOOLS,
  usage: "split 't'\nsplit 't', 'row'\nsplit 'ENCODED_REGIONNAME', 'row'",
  async run({ store }, args) {
    requireArgumentCount(args, 1, 2);
    const row = args.length === 1 ? undefined : bytesArgument(args, 1, 'split row');
    await store.admin.split(textArgument(args, 0, 'table or region'), row);
  },
};

const mergeRegion: ShellCommand = {
  name: 'merge_region',
  group: TOOLS,
  usage: "merge_region 'ENCODED_REGIONNAME', 'ENCODED_REGIONNAME'   (neighbours)",
  async run({ store }, args) {
    requireArgumentCount(args, 2, 2);
    const [one, other] = [0, 1].map((i) => textArgument(args, i, 'region'));
    const regions = await store.regions();
    const found = regions.find(
      ({ encodedName, name }) => one === encodedName || one === Buffer.from(name).toString(),
    );
    if (found === undefined) throw new UnknownRegionException(`There is no region ${one!}`);
    await store.admin.mergeRegions(found.table, one!, other!);
  },
};

const listRegions: ShellCommand = {
  name: 'list_regions',
  group: TOOLS,
  usage: "list_regions 't'",
  async run({ store, printer }, args) {
    requireArgumentCount(args, 1, 1);
    const regions = await store.regions(textArgument(args, 0, 'table'));
    for (const region of regions) {
      const { encodedName, startKey, endKey, storeFileBytes, readRequests, writeRequests } = region;
      printer.either(
        { ...region },
        ` ${encodedName} | ${toStringBinary(startKey)} | ${toStringBinary(endKey)} | ${storeFileBytes} bytes | ${readRequests + writeRequests} requests`,
      );
    }
    if (!printer.json) printer.line(` ${regions.length} rows`);
  },
};

const normalize: ShellCommand = {
  name: 'normalize',
  group: TOOLS,
  usage: "normalize\nnormalize 't'",
  async run({ store, printer }, args) {
    requireArgumentCount(args, 0, 1);
    const table = args.length === 0 ? undefined : textArgument(args, 0, 'table');
    const { splits, merges } = await store.admin.normalize(table);
    printer.either({ splits, merges }, `${splits} regions split, ${merges} merged`);
  },
};

/** HBase: splitormerge_switch takes SPLIT or MERGE first, normalizer_switch the state alone. */
function switchCommand(name: string, fixed: RegionSwitch | null): ShellCommand {
  return {
    name,
    group: TOOLS,
    usage: fixed === null ? `${name} 'SPLIT', true\n${name} 'MERGE', false` : `${name} true`,
    async run({ store, printer }, args) {
      const count = fixed === null ? 2 : 1;
      requireArgumentCount(args, count, count);
      const which = fixed ?? textArgument(args, 0, 'switch').toLowerCase();
      const on = args[count - 1];
      if (typeof on !== 'boolean' || (which !== 'split' && which !== 'merge' && fixed === null)) {
        throw new IllegalArgumentException(`usage: ${switchCommand(name, fixed).usage}`);
      }
      const was = await store.admin.setSwitch(which as RegionSwitch, on);
      printer.either({ switch: which, on, was }, `Previous state : ${String(was)}`);
    },
  };
}

/** Every command, in the order of `help`. */
export const REGION_COMMANDS: readonly ShellCommand[] = [
  split,
  mergeRegion,
  listRegions,
  normalize,
  switchCommand('splitormerge_switch', null),
  switchCommand('normalizer_switch', 'normalizer'),
];

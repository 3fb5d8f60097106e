/** `cellar hfile dump`: what it says of HBase's own file, against the manifest that HBase printed. */
import { expect, test } from 'vitest';
import { BlockCache, HFileReader, describeHFile, hfileText } from '../../src/hfile/index.ts';
import { fsWith, goldenBytes } from './support.ts';

test('mvcc-rowbloom.hfile', async () => {
  const fs = await fsWith('/f.hfile', goldenBytes('mvcc-rowbloom'));
  const reader = await HFileReader.open(fs, '/f.hfile', new BlockCache());
  const description = await describeHFile(reader, { blocks: true });
  expect(description.trailer).toEqual({
    cellCount: 68,
    compression: 'NONE',
    dataIndexLevels: 2,
    dataIndexCount: 3,
    dataIndexSize: 521,
    plainSize: 8792,
    fileInfoOffset: 4145,
    loadOnOpenOffset: 3950,
    firstDataBlockOffset: 0,
    lastDataBlockOffset: 3592,
    comparator: 'org.apache.hadoop.hbase.KeyValue$KVComparator',
  });
  expect(description.fileInfo).toMatchObject({
    BLOOM_FILTER_TYPE: 'ROW',
    TIMERANGE: '0....1700000000015',
    MAX_MEMSTORE_TS_KEY: '115',
    MAJOR_COMPACTION_KEY: 'false',
    'hfile.AVG_KEY_LEN': '25',
    'hfile.LASTKEY':
      '\\x00\\x08row-0015\\x01fq2-longer-name\\x00\\x00\\x00\\x00\\x00\\x00\\x0B\\xB8\\x04',
  });
  expect(description.bloom).toMatchObject({ keyCount: 16, chunkCount: 1, hashCount: 7 });
  expect(description.deleteFamilyBloom).toMatchObject({ keyCount: 2, keysMax: 3, sizeBytes: 4 });
  expect(description.dataBlocks).toHaveLength(10);
  expect(description.dataBlocks!.at(-1)).toMatchObject({ magic: 'DATABLK*', offset: 3592 });
  const text = hfileText(description);
  expect(text).toContain('    cellCount = 68\n');
  expect(text).toContain('    3592 DATABLK* ');
  expect(JSON.parse(JSON.stringify(description))).toEqual(description);
});

/** NEW_VERSION_BEHAVIOR: what single markers hide. Random histories are in random.test.ts. */
import { expect, test } from 'vitest';
import { TYPE_DELETE_COLUMN, TYPE_DELETE_FAMILY } from '../../../src/cell/index.ts';
import { NewVersionTracker } from '../../../src/region/scan/new_version_tracker.ts';

test.each([
  { family: 5, column: 9 },
  { family: 9, column: 5 },
])('of markers of family @$family and column @$column in one commit both hide', (markers) => {
  const tracker = new NewVersionTracker(3);
  tracker.add(TYPE_DELETE_FAMILY, 0, markers.family, 0, 10);
  tracker.nextColumn();
  tracker.add(TYPE_DELETE_COLUMN, 0, markers.column, 0, 10);
  expect(tracker.hides(0, 12, 0, 1)).toBe(false);
  expect(tracker.hides(0, 7, 0, 2)).toBe(true);
  expect(tracker.hides(0, 4, 0, 11)).toBe(false);
  expect(tracker.hides(0, 3, 0, 3)).toBe(true);
});

// Prints "PASSED FAILED" of a vitest JSON report. Arguments: the report, the exit status of the run.
// A run that failed without a failed test (a file that does not load, an unhandled error, no report) counts as one failure.
import { readFileSync } from 'node:fs';

const [report, status] = process.argv.slice(2);
let passed = 0;
let failed = 0;
try {
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(report, 'utf8'));
  const broken = testResults.filter(
    (file) =>
      file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed'),
  );
  for (const file of broken) console.error(`failed to run: ${file.name}`);
  passed = numPassedTests;
  failed = numFailedTests + broken.length;
} catch (error) {
  console.error(`no test report: ${error.message}`);
}
if (status !== '0' && failed === 0) failed = 1;
if (status === '0' && passed + failed === 0) failed = 1;
console.log(`${passed} ${failed}`);

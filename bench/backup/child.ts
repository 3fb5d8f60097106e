/** One step of the backup bench in a process of its own: its configuration as an argument, its figures as a line of JSON. */
import { runStep } from './steps.ts';
import type { StepConfig } from './steps.ts';

const result = await runStep(JSON.parse(process.argv[2]!) as StepConfig);
process.stdout.write(`${JSON.stringify(result)}\n`);

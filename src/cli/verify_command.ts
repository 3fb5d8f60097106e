/** `cellar verify`: checks an export, or a folder of backups. */
import type { Command } from 'commander';
import { holdsBackups, verifyBackups, verifyExport } from '../backup/index.ts';
import type { VerifyReport } from '../backup/index.ts';
import { EXIT_FAILED } from './context.ts';
import type { CliContext, GlobalOptions } from './context.ts';
import type { Printer } from './output.ts';
import { guarded, workProgress } from './work_progress.ts';

interface VerifyFlags extends GlobalOptions {
  readonly quick?: boolean;
}

/** Adds the command to the program. */
export function addVerifyCommand(program: Command, context: CliContext): void {
  program
    .command('verify <DIR>')
    .description(
      'check the files of an export, or of a folder of backups, against counts and checksums',
    )
    .option('--quick', 'lengths and checksums only, cells are not read')
    .action(async (dir: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<VerifyFlags>();
      const progress = workProgress(context, 'verifying');
      const options = { quick: flags.quick === true, ...progress.options };
      const { env } = context.io;
      const isBackups = await holdsBackups(env, dir);
      const report = await guarded<VerifyReport>(context, progress, () =>
        isBackups ? verifyBackups(env, dir, null, options) : verifyExport(env, dir, options),
      );
      if (report === null) return;
      const printer = context.printer(flags);
      printFaults(report, dir, printer);
      if (report.faults.length > 0) context.exitStatus = EXIT_FAILED;
      await printer.flush();
    });
}

/** The findings: each fault, then the sum. */
export function printFaults(report: VerifyReport, dir: string, printer: Printer): void {
  const { files, bytes, cells, faults } = report;
  if (printer.json) {
    printer.either({ dir, files, bytes, cells, faults, ok: faults.length === 0 }, '');
    return;
  }
  for (const { path, what } of faults) printer.line(`${path}: ${what}`);
  printer.line(
    faults.length === 0
      ? `${dir} is whole: ${files} file(s), ${bytes} bytes, ${cells} cell(s)`
      : `${dir} is damaged: ${faults.length} of ${files} file(s)`,
  );
}

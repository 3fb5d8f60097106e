/**
 * Who a process is, beyond its number: numbers are reused, and survive neither a reboot nor a container. Where the
 * platform tells (Linux), a process is its number, the start time of that number, the boot and the number space.
 */
import * as fs from 'node:fs';
import * as os from 'node:os';
import { systemCode } from './real_errors.ts';

export interface ProcessIdentity {
  readonly pid: number;
  /** In the platform's own unit; empty where it is not told. */
  readonly startTime: string;
  /** Tells one run of the machine from the next; empty where it is not told. */
  readonly boot: string;
  /** The space in which `pid` counts (a container has its own); empty where there is but one. */
  readonly pidSpace: string;
  readonly host: string;
}

/** `unknown`: it cannot be seen from here, being in another container or on another machine. */
export type Liveness = 'alive' | 'dead' | 'unknown';

function textOrEmpty(read: () => string): string {
  try {
    return read().trim();
  } catch (error) {
    // Every failure means the same: this platform does not tell.
    if (systemCode(error) !== '') return '';
    throw error;
  }
}

/** Field 22 of /proc/PID/stat: ticks from boot to the start. The command before it may hold anything but ends at ')'. */
function startTimeOf(pid: number): string {
  const stat = textOrEmpty(() => fs.readFileSync(`/proc/${pid}/stat`, 'utf8'));
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

/** A killed process whose parent has not asked for its status keeps its number, but holds nothing. */
function isZombie(pid: number): boolean {
  const stat = textOrEmpty(() => fs.readFileSync(`/proc/${pid}/stat`, 'utf8'));
  const state = stat.charAt(stat.lastIndexOf(')') + 2);
  return state === 'Z' || state === 'X';
}

export function ownIdentity(): ProcessIdentity {
  return {
    pid: process.pid,
    startTime: startTimeOf(process.pid),
    boot: textOrEmpty(() => fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')),
    pidSpace: textOrEmpty(() => fs.readlinkSync('/proc/self/ns/pid')),
    host: os.hostname(),
  };
}

function pidExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is there and belongs to somebody else.
    return systemCode(error) !== 'ESRCH';
  }
}

/** Whether the process that `other` describes still runs, as seen from this one. */
export function livenessOf(other: ProcessIdentity, own: ProcessIdentity): Liveness {
  if (own.boot !== '' && other.boot !== '') {
    // Another boot of this machine, or another machine, which then has a name of its own.
    if (own.boot !== other.boot) return own.host === other.host ? 'dead' : 'unknown';
    if (own.pidSpace !== other.pidSpace) return 'unknown';
  } else if (own.host !== other.host) {
    return 'unknown';
  }
  if (!pidExists(other.pid) || isZombie(other.pid)) return 'dead';
  const startTime = startTimeOf(other.pid);
  if (startTime === '' || other.startTime === '') return 'alive';
  return startTime === other.startTime ? 'alive' : 'dead';
}

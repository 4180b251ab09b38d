import type { Clock, Log } from 'capataz/server';
import type {
  Alert,
  AlertKind,
  AlertMark,
  AlertMarks,
  AlertPolicy,
  Alerts,
  Facts,
  RaiseResult,
} from './contract.ts';
import { alertMail, capMail, type Mail, recoveryMail } from './mail-text.ts';
import type { Mailer } from './mailer.ts';
import { isForgotten, mailed, raised } from './marking.ts';
import { markId } from './memory-marks.ts';

export interface AlertsOptions {
  readonly policies: Readonly<Record<AlertKind, AlertPolicy>>;
  readonly marks: AlertMarks;
  /** Null: alerts go to the log only. */
  readonly mailer: Mailer | null;
  readonly clock: Clock;
  readonly log: Log;
  readonly zone: string;
  readonly maxMailsPerHour: number;
}

const hourMs = 3_600_000;
/** After a mail that could not be sent. */
const retryMs = 60_000;

/** Alerts with marks that outlive the process. */
export function createAlerts(options: AlertsOptions): Alerts {
  return new MailedAlerts(options);
}

class MailedAlerts implements Alerts {
  readonly #options: AlertsOptions;
  /** By kind and key; read at the start and when the turn comes, then written through. */
  readonly #marks = new Map<string, AlertMark>();
  #loading: Promise<void>;
  readonly #sending = new Map<string, Promise<RaiseResult>>();
  /** When mails went out, within the last hour. */
  readonly #mailedAt: number[] = [];
  #isCapTold = false;
  #restsUntil = 0;
  #cancelRetry: (() => void) | null = null;
  #isClosed = false;

  constructor(options: AlertsOptions) {
    this.#options = options;
    this.#loading = this.#load();
  }

  async raise(alert: Alert): Promise<RaiseResult> {
    await this.#loading;
    const { policies, clock } = this.#options;
    const id = markId(alert);
    const before = this.#marks.get(id) ?? null;
    const mark = raised(before, alert, policies[alert.kind], clock.now());
    await this.#put(mark);
    if (!mark.isUnsent) return 'held';
    if (before?.isUnsent !== true) this.#tell(mark);
    return this.#deliver(id);
  }

  async clear(kind: AlertKind, key: string, facts: Facts = {}): Promise<void> {
    await this.#loading;
    const id = markId({ kind, key });
    if (!this.#marks.has(id)) return;
    await this.#sending.get(id);
    const mark = this.#marks.get(id);
    if (mark === undefined) return;
    this.#marks.delete(id);
    await this.#store('forgotten', () => this.#options.marks.remove(kind, key));
    const policy = this.#options.policies[kind];
    if (mark.mailedAt === null || policy.tellsRecovery !== true) return;
    this.#options.log.info('alert is over', { alert: kind, key });
    const { clock, zone } = this.#options;
    await this.#mail(recoveryMail(mark, policy, { facts, now: clock.now(), zone }));
  }

  reread(): void {
    this.#loading = this.#loading.then(() => this.#load());
  }

  async current(): Promise<readonly AlertMark[]> {
    await this.#loading;
    return [...this.#marks.values()].toSorted((a, b) => b.lastRaisedAt - a.lastRaisedAt);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelRetry?.();
    await Promise.all([this.#loading, ...this.#sending.values()]);
    this.#options.mailer?.close();
  }

  async #load(): Promise<void> {
    const { marks, policies, clock, log } = this.#options;
    try {
      const stored = await marks.all();
      this.#marks.clear();
      for (const mark of stored) {
        if (isForgotten(mark, policies[mark.kind], clock.now()))
          await marks.remove(mark.kind, mark.key);
        else this.#marks.set(markId(mark), mark);
      }
      if ([...this.#marks.values()].some(({ isUnsent }) => isUnsent)) this.#retryIn(0);
    } catch (error) {
      log.error('what was alerted before is not known, and may be alerted again', { error });
    }
  }

  /** One at a time for each mark: who comes while it is being sent hears of the same mail. */
  #deliver(id: string): Promise<RaiseResult> {
    const under = this.#sending.get(id);
    if (under !== undefined) return under;
    const sending = this.#send(id).finally(() => this.#sending.delete(id));
    this.#sending.set(id, sending);
    return sending;
  }

  async #send(id: string): Promise<RaiseResult> {
    const mark = this.#marks.get(id);
    if (mark === undefined) return 'held';
    const { policies, zone, clock, mailer } = this.#options;
    const result =
      mailer === null ? 'logged' : await this.#mail(alertMail(mark, policies[mark.kind], zone));
    const now = this.#marks.get(id);
    if (result !== 'waiting' && now !== undefined) await this.#put(mailed(now, clock.now()));
    return result;
  }

  async #mail(mail: Mail): Promise<'sent' | 'waiting' | 'logged'> {
    const { mailer, clock, log } = this.#options;
    if (mailer === null) return 'logged';
    const now = clock.now();
    if (this.#isClosed || now < this.#restsUntil) return this.#waits(this.#restsUntil - now);
    const capMs = this.#capMs(now);
    if (capMs > 0) return this.#capped(mailer, capMs);
    try {
      // Counted before it is sent: several may be under way.
      this.#mailedAt.push(now);
      await mailer.send(mail);
      return 'sent';
    } catch (error) {
      this.#mailedAt.splice(this.#mailedAt.indexOf(now), 1);
      log.error('a mail could not be sent and waits', { subject: mail.subject, error });
      this.#restsUntil = clock.now() + retryMs;
      return this.#waits(retryMs);
    }
  }

  #capMs(now: number): number {
    while ((this.#mailedAt[0] ?? now) <= now - hourMs) this.#mailedAt.shift();
    const { maxMailsPerHour } = this.#options;
    if (this.#mailedAt.length < maxMailsPerHour) {
      this.#isCapTold = false;
      return 0;
    }
    return (this.#mailedAt[0] ?? now) + hourMs - now;
  }

  async #capped(mailer: Mailer, forMs: number): Promise<'waiting'> {
    const { log, maxMailsPerHour } = this.#options;
    if (!this.#isCapTold) {
      this.#isCapTold = true;
      log.warn('as many alerts as are mailed in an hour: more wait', { maxMailsPerHour });
      await mailer.send(capMail(maxMailsPerHour)).catch((error: unknown) => {
        log.error('a mail could not be sent', { error });
      });
    }
    return this.#waits(forMs);
  }

  #waits(forMs: number): 'waiting' {
    this.#retryIn(Math.max(forMs, 1_000));
    return 'waiting';
  }

  #retryIn(ms: number): void {
    if (this.#isClosed || this.#cancelRetry !== null) return;
    this.#cancelRetry = this.#options.clock.after(ms, () => {
      this.#cancelRetry = null;
      for (const [id, { isUnsent }] of this.#marks) {
        // Delivering does not throw.
        if (isUnsent) void this.#deliver(id);
      }
    });
  }

  #tell({ kind, key, message, facts }: AlertMark): void {
    const { log, policies } = this.#options;
    const { level, title } = policies[kind];
    const fields = { ...facts, alert: kind, key };
    if (level === 'MEDIO') log.warn(`${title}: ${message}`, fields);
    else log.error(`${title}: ${message}`, fields);
  }

  async #put(mark: AlertMark): Promise<void> {
    this.#marks.set(markId(mark), mark);
    await this.#store('stored', () => this.#options.marks.put(mark));
  }

  async #store(what: string, act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.#options.log.warn(`the mark of an alert could not be ${what}`, { error });
    }
  }
}

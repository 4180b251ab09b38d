/** A rule that was understood. */
export type Timing = IntervalTiming | CalendarTiming;

export interface IntervalTiming {
  readonly type: 'interval';
  readonly everyMs: number;
  readonly anchor: number;
}

export interface CalendarTiming {
  readonly type: 'calendar';
  readonly isOn: (day: number) => boolean;
  /** Minutes of such a day, ascending. */
  readonly minutes: readonly number[];
  /**
   * It has a slot whenever the wall shows such a time: none in an hour that is left out, two in one
   * that comes twice. Otherwise each wall time counts once, whatever is done to the clocks.
   */
  readonly followsClock: boolean;
}

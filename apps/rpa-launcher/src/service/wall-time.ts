const formats = new Map<string, Intl.DateTimeFormat>();

/** `2025-11-21 14:30:15` in a zone. */
export function wallTime(at: number, zone: string): string {
  let format = formats.get(zone);
  if (format === undefined) {
    // Swedish is written so.
    const style = { dateStyle: 'short', timeStyle: 'medium' } as const;
    format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, ...style });
    formats.set(zone, format);
  }
  return format.format(at);
}

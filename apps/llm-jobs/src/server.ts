import type { Server } from 'capataz/server';
import type { Books } from './books/books.ts';
import type { JobParts } from './job/parts.ts';
import type { Models } from './models/create-models.ts';
import type { settings } from './settings.ts';

/** What handlers, feeds and routes of the application share. */
export interface Stores extends JobParts, Readonly<Record<string, unknown>> {
  readonly models: Models;
  readonly books: Books;
}

/** The application, composed. */
export type LlmServer = Server<typeof settings, Stores>;

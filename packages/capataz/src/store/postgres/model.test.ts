import { modelTest } from '../../testing/store-suite-model.ts';
import { Schemas } from './fixtures/schemas.ts';

const schemas = Schemas.ofThisFile();

modelTest('postgres', () => schemas.storeUnderTest());

import { storeSuite } from '../../testing/store-suite.ts';
import { Schemas } from './fixtures/schemas.ts';

const schemas = Schemas.ofThisFile();

storeSuite('postgres', () => schemas.storeUnderTest());

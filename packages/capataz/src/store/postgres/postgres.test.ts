import { storeSuite } from '../../testing/store-suite.ts';
import { instancesSuite } from '../../testing/store-suite-instances.ts';
import { VirtualClock } from '../../testing/virtual-clock.ts';
import { Schemas } from './fixtures/schemas.ts';

const schemas = Schemas.ofThisFile();

storeSuite('postgres', () => schemas.storeUnderTest());

instancesSuite('postgres', async () => {
  const clock = new VirtualClock();
  const schema = schemas.newName();
  const one = await schemas.open(schema, clock);
  const two = await schemas.open(schema, clock);
  const close = async (): Promise<void> => {
    await Promise.all([one.close(), two.close()]);
    await schemas.drop(schema);
  };
  return { one, two, clock, close };
});

-- Notes, for the next statement of the transaction, up to where nothing can become visible late.
SELECT set_config('capataz.visible', visible_position()::text, true)

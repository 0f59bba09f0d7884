-- Makes the server finish what a load or writes left behind.
VACUUM ANALYZE;
CHECKPOINT;

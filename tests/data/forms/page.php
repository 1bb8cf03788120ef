<?php
// "<form action='/cgi-bin/mapserv'>" is what we print below
$base = 'http://gis.example.org/cgi-bin/mapserv?map=' . $map;
?>
<!DOCTYPE html>
<html><body <?= $class ?>>
<form<?= $attributes ?> action="/cgi-bin/mapserv" method="<?= $method ?>">
<input type=hidden name=map value=<?= $map ?> >
<input type=checkbox <?php if ($a > 1) echo "checked"; ?> name=a>
<img src="/cgi-bin/mapserv?map=<?= urlencode($map) ?>&amp;mode=map">
<img src="<?= $base ?>/cgi-bin/mapserv?mode=map">
<img width=<?= $w ?> src=/cgi-bin/mapserv?mode=scalebar>
<a href=/cgi-bin/mapserv<?= $suffix ?>?x>x</a>
<iframe src="/cgi-bin/mapserv?x=<?php echo "y>z" ?>"></iframe>
<form action="<?= $_SERVER['PHP_SELF'] ?>"></form>
</form>
<script>var u = "<?= $base ?>"; </script>
<?php echo '<a href="/cgi-bin/mapserv">';
